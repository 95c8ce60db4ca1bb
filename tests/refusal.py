"""What every refusal looks like: one error class, three lines, the value and the remedy in them."""

from contextlib import contextmanager

import pytest


@contextmanager
def refused(error, *said):
    """Expect exactly this error, saying these words."""
    with pytest.raises(error) as caught:
        yield caught
    assert type(caught.value) is error
    lines = str(caught.value).splitlines()
    assert len(lines) == 3 and all(line.strip() for line in lines), lines
    for words in said:
        assert words in str(caught.value)
