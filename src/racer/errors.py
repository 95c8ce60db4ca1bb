"""Every error racer raises: what went wrong, with which values, what to do.

RacerError
├── ShapeError              shape_mismatch
├── NonFiniteError          non_finite
├── PosteriorError          bad_posterior
├── TooFewRolesError        too_few_roles
├── ZeroEmbeddingError      zero_embedding
├── LabelError              label_out_of_range
├── SettingError            bad_setting
├── DuplicateExpertError    duplicate_expert
├── DuplicateAnswerError    duplicate_answer
├── DuplicateItemError      duplicate_item
├── ClassNamesError         class_names
├── UnknownExpertError      unknown_expert
├── UnknownItemError        unknown_item
├── MissingColumnError      missing_column
├── TooFewAnswersError      too_few_answers
├── NotFittedError          not_fitted
├── UndefinedMetricError    undefined_metric
├── TargetNotReachedError   target_not_reached
├── ArtifactError           bad_artifact
├── FileFormatError         bad_file
├── OutputError             bad_output
└── ContractError           broken_contract
"""

from typing import Any, ClassVar

__all__ = [
    "ArtifactError",
    "ClassNamesError",
    "ContractError",
    "DuplicateAnswerError",
    "DuplicateExpertError",
    "DuplicateItemError",
    "FileFormatError",
    "LabelError",
    "MissingColumnError",
    "NonFiniteError",
    "NotFittedError",
    "OutputError",
    "PosteriorError",
    "RacerError",
    "SettingError",
    "ShapeError",
    "TargetNotReachedError",
    "TooFewAnswersError",
    "TooFewRolesError",
    "UndefinedMetricError",
    "UnknownExpertError",
    "UnknownItemError",
    "ZeroEmbeddingError",
]


class RacerError(Exception):
    """Base of every error here.

    The message has three lines: what, with which values, what to do. `data` keeps the values for programs,
    and `code` never changes.

    >>> error = NotFittedError("'racer-kernel' has no head yet.", "fit() was not called.", "Call fit(panel) first.")
    >>> print(error)
    'racer-kernel' has no head yet.
      fit() was not called.
      Call fit(panel) first.
    """

    code: ClassVar[str] = "racer_error"

    def __init__(self, what: str, values: str, fix: str, **data: Any) -> None:
        super().__init__(f"{what}\n  {values}\n  {fix}")
        self.what, self.values, self.fix, self.data = what, values, fix, data


class ShapeError(RacerError, ValueError):
    """Two things that must line up do not."""

    code = "shape_mismatch"


class NonFiniteError(RacerError, ValueError):
    """A NaN or an infinity where a number must be."""

    code = "non_finite"


class PosteriorError(RacerError, ValueError):
    """A row of the posterior is not a probability distribution."""

    code = "bad_posterior"


class TooFewRolesError(RacerError, ValueError):
    """Fewer than two classes: nothing to tell apart."""

    code = "too_few_roles"


class ZeroEmbeddingError(RacerError, ValueError):
    """An embedding of length zero has no direction, so no cosine similarity."""

    code = "zero_embedding"


class LabelError(RacerError, ValueError):
    """A label or an answer outside the classes of the posterior."""

    code = "label_out_of_range"


class SettingError(RacerError, ValueError):
    """A setting outside its range."""

    code = "bad_setting"


class DuplicateExpertError(RacerError, ValueError):
    """The same expert id twice."""

    code = "duplicate_expert"


class DuplicateAnswerError(RacerError, ValueError):
    """One expert answered one item twice in the same table."""

    code = "duplicate_answer"


class DuplicateItemError(RacerError, ValueError):
    """Two cases with the same id."""

    code = "duplicate_item"


class ClassNamesError(RacerError, ValueError):
    """The names of the classes, or their order, are not known or do not agree."""

    code = "class_names"


class UnknownExpertError(RacerError, LookupError):
    """An expert id that the panel does not hold."""

    code = "unknown_expert"


class UnknownItemError(RacerError, LookupError):
    """An item id in a table of answers that no case carries."""

    code = "unknown_item"


class MissingColumnError(RacerError, LookupError):
    """A table lacks a column that is needed."""

    code = "missing_column"


class TooFewAnswersError(RacerError, ValueError):
    """Too few experts or answers to do what was asked."""

    code = "too_few_answers"


class NotFittedError(RacerError, RuntimeError):
    """A method with learned parameters was used before it was fitted."""

    code = "not_fitted"


class UndefinedMetricError(RacerError, ValueError):
    """A metric has no value on this data."""

    code = "undefined_metric"


class TargetNotReachedError(RacerError, ValueError):
    """Held-out cases do not show that any budget reaches the accuracy asked for."""

    code = "target_not_reached"


class ArtifactError(RacerError, ValueError):
    """A saved file is missing, truncated, edited, foreign, or from another version."""

    code = "bad_artifact"


class FileFormatError(RacerError, ValueError):
    """A file of cases or answers is missing, cut, or not what its name says."""

    code = "bad_file"


class OutputError(RacerError, OSError):
    """An output cannot be written where it was asked for."""

    code = "bad_output"


class ContractError(RacerError, AssertionError):
    """A method broke the contract of `racer.checks`."""

    code = "broken_contract"
