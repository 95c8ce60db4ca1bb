"""Tables of answers: long or wide, CSV or parquet, and every mistake by its line in the file."""

import csv
import io

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from filed import answer_csv, answer_parquet
from hypothesis import given
from hypothesis import strategies as st
from refusal import refused

from racer.errors import DuplicateExpertError, FileFormatError, LabelError, MissingColumnError
from racer.files.answer_file import is_number, read_answer_file

LONG = "item,expert,answer,label\na1,ada,cat,cat\na2,ada,,dog\na1,bo,owl,\n"
ROWS = [("a1", "ada", "cat", "cat"), ("a2", "ada", None, "dog"), ("a1", "bo", "owl", None)]


def rows_of(path, *names):
    table = read_answer_file(path).table
    return list(zip(*(table[name].to_pylist() for name in names or table.column_names), strict=True))


# what is read


WRITTEN = {
    "commas": LONG,
    "semicolons": LONG.replace(",", ";"),
    "tabs": LONG.replace(",", "\t"),
    "a mark of bytes in front": "\ufeff" + LONG,
    "lines of Windows": LONG.replace("\n", "\r\n"),
    "lines of old Macs": LONG.replace("\n", "\r"),
    "no last line end": LONG.rstrip("\n"),
    "line ends too many": LONG + "\n\r\n\n",
    "blank lines": LONG.replace("\n", "\n\n"),
    "blanks around": LONG.replace("ada", " ada  "),
    "quotes": LONG.replace("ada", '"ada"'),
    "another column": "\n".join(line + f",{n}" for n, line in enumerate(LONG.splitlines())),
    "a comma in another column": "\n".join(line + ',"a, b"' for line in LONG.splitlines()),
    "columns in another order": "label,answer,expert,item\ncat,cat,ada,a1\ndog,,ada,a2\n,owl,bo,a1\n",
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_a_long_table_is_read_however_it_is_written(text, tmp_path):
    assert rows_of(answer_csv(tmp_path, text), "item", "expert", "answer", "label") == ROWS


def test_a_table_need_not_be_called_csv(tmp_path):
    for name in ("answers", "answers.txt", "ANSWERS.CSV"):
        assert rows_of(answer_csv(tmp_path, LONG, name)) == ROWS


def test_crowd_kit_calls_an_answer_a_label(tmp_path):
    path = answer_csv(tmp_path, "task,worker,label\na1,ada,cat\n")
    assert rows_of(path, "item", "expert", "answer") == [("a1", "ada", "cat")]
    assert not read_answer_file(path).has_label


def test_names_of_ours_go_before_those_of_crowd_kit(tmp_path):
    path = answer_csv(tmp_path, "task,worker,item,expert,answer,label\n9,9,a1,ada,cat,dog\n")
    assert rows_of(path, "item", "expert", "answer", "label") == [("a1", "ada", "cat", "dog")]


@pytest.mark.parametrize("case", ["item", "id", "case", "task"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_wide_table_is_read_expert_after_expert(case, mark, tmp_path):
    text = f"{case},ada,label,bo\na1,cat,cat,owl\na2,,dog,\n".replace(",", mark)
    table = read_answer_file(answer_csv(tmp_path, text)).table
    assert table.to_pydict() == {
        "item": ["a1", "a2"] * 2,
        "expert": ["ada", "ada", "bo", "bo"],
        "answer": ["cat", None, "owl", None],
        "label": ["cat", "dog"] * 2,
    }


def test_an_expert_may_have_a_comma_among_semicolons(tmp_path):
    assert rows_of(answer_csv(tmp_path, 'item;"Smith, J"\na1;cat\n')) == [("a1", "Smith, J", "cat")]


def test_a_wide_table_may_lack_answers_of_somebody(tmp_path):
    assert rows_of(answer_parquet(tmp_path, {"item": ["a1"], "ada": pa.nulls(1), "bo": [2]})) == [
        ("a1", "ada", None),
        ("a1", "bo", "2"),
    ]


def test_a_header_of_many_experts_is_read_to_its_end(tmp_path):
    experts = [f"reader number {n:06d}" for n in range(6000)]
    path = answer_csv(tmp_path, ",".join(["item", *experts]) + "\n" + ",".join(["a1"] + ["01"] * 6000) + "\n")
    table = read_answer_file(path).table
    assert table["expert"].to_pylist() == experts and set(table["answer"].to_pylist()) == {"01"}


@pytest.mark.parametrize("ids", [("007", "7"), ("1e5", "100000"), ("True", "true"), ("2024-01-01", "2024-1-1")])
def test_ids_and_answers_stay_as_they_are_written(ids, tmp_path):
    path = answer_csv(tmp_path, "item,expert,answer\n" + "".join(f"{one},{one},{one}\n" for one in ids))
    assert rows_of(path) == [(one, one, one) for one in ids]


PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8).filter(
    lambda one: one.strip() and "\ufeff" not in one
)


@given(st.lists(st.tuples(PLAIN, PLAIN, PLAIN), min_size=1, max_size=6), st.sampled_from([",", ";", "\t"]))
def test_whatever_csv_can_hold_is_read(tmp_path_factory, rows, mark):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=mark, quoting=csv.QUOTE_ALL).writerows([("item", "expert", "answer"), *rows])
    path = answer_csv(tmp_path_factory.mktemp("any"), text.getvalue().replace('"item"', "item"))
    table = read_answer_file(path).table
    found = zip(*(table[name].to_pylist() for name in ("item", "expert", "answer")), strict=True)
    assert [[arrow_strip(one) for one in row] for row in rows] == [list(row) for row in found]


def arrow_strip(text):
    return pa.compute.utf8_trim_whitespace(pa.scalar(text)).as_py() or None


@given(st.data())
def test_parquet_says_what_csv_says(tmp_path_factory, data):
    n = data.draw(st.integers(0, 6))
    columns = {
        "item": data.draw(st.lists(st.sampled_from(["a1", "a2", "007"]), min_size=n, max_size=n)),
        "expert": data.draw(st.lists(st.sampled_from(["ada", "bo, jr", 'the "old" one']), min_size=n, max_size=n)),
        "answer": data.draw(st.lists(st.sampled_from(["cat", "dog", None]), min_size=n, max_size=n)),
    }
    folder = tmp_path_factory.mktemp("both")
    frame = pd.DataFrame(columns, dtype=object)
    frame.to_csv(folder / "a.csv", index=False)
    pa.parquet.write_table(
        pa.table({name: pa.array(one, pa.string()) for name, one in columns.items()}), folder / "a.pq"
    )
    assert rows_of(folder / "a.csv", *columns) == rows_of(folder / "a.pq", *columns)


@pytest.mark.parametrize("text", ["0", "1", "1.0", "1e3", "-1", "+1", " 2 ", ".5"])
def test_numbers_are_numbers(text):
    assert is_number(text)


@pytest.mark.parametrize("text", ["", "cat", "nan", "inf", "-Infinity", "1e999", "0x1", "1_0", "１", "1,5"])
def test_names_are_names(text):
    assert not is_number(text)


# lines


FRONT = {
    "nothing": ("", 0),
    "blank lines": ("\n\n", 2),
    "blank lines of Windows": ("\r\n\r\n", 2),
    "a cell of three lines": ('a1,"ada\n\nthe first",cat\n', 3),
    "both": ('\na1,"a\nb",cat\n\n', 4),
    "plain rows": ("a1,ada,cat\na2,ada,cat\n", 2),
}


@pytest.mark.parametrize(("front", "n"), FRONT.values(), ids=FRONT)
def test_the_line_said_is_the_line_of_the_file(front, n, tmp_path):
    file = read_answer_file(answer_csv(tmp_path, f"item,expert,answer\n{front}a3,cy,dog\n\na4,cy,dog\n"))
    last = len(file.table) - 1
    assert (file.place(last - 1, None), file.place(last, None)) == (f"line {n + 2}", f"line {n + 4}")


@pytest.mark.parametrize(("front", "n"), FRONT.values(), ids=FRONT)
@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a3,cy", "line {} has 2 cells, the first 3: 'a3,cy'"),
        ("a3,cy,dog,owl", "line {} has 4 cells, the first 3: 'a3,cy,dog,owl'"),
        ('"a3,cy,dog', "the row that begins on line {} does not end: a quote is not closed"),
        ('a3,cy,"dog', "the row that begins on line {} does not end: a quote is not closed"),
    ],
)
def test_a_row_that_is_none_is_refused_with_its_line(front, n, row, said, tmp_path):
    path = answer_csv(tmp_path, f"item,expert,answer\n{front}{row}\na4,cy,dog\n")
    with refused(FileFormatError, said.format(n + 2), "answers.csv"):
        read_answer_file(path)


@pytest.mark.parametrize(("front", "n"), FRONT.values(), ids=FRONT)
def test_a_byte_that_is_no_text_is_refused_with_its_line(front, n, tmp_path):
    path = answer_csv(tmp_path, f"item,expert,answer\n{front}".encode() + "a3,José,dog\n".encode("latin-1"))
    with refused(FileFormatError, f"line {n + 2} is not UTF-8", "CSV UTF-8"):
        read_answer_file(path)


def test_an_endless_cell_is_an_unclosed_quote(tmp_path):
    with refused(FileFormatError, "the row that begins on line 3 does not end"):
        read_answer_file(answer_csv(tmp_path, 'item,expert,answer\na1,ada,1\na2,"ada,1\n' + "a3,bo,2\n" * 20_000))


def test_a_quote_in_the_middle_of_a_row_that_spans_lines_is_refused(tmp_path):
    with refused(FileFormatError, "line 3 has a quote out of place"):
        read_answer_file(answer_csv(tmp_path, 'item,expert,answer\n\na1,"ada"x,1\n'))


def test_places_in_a_wide_table_are_a_line_and_a_column(tmp_path):
    file = read_answer_file(answer_csv(tmp_path, "id,ada,bo,label\na1,cat,dog,cat\n\na2,owl,cat,dog\n"))
    assert [file.place(row, "answer") for row in range(4)] == [
        "line 2, column 'ada'",
        "line 4, column 'ada'",
        "line 2, column 'bo'",
        "line 4, column 'bo'",
    ]
    assert [file.place(3, column) for column in ("label", "item")] == ["line 4, column 'label'", "line 4, column 'id'"]


def test_parquet_has_rows_and_no_lines(tmp_path):
    file = read_answer_file(answer_parquet(tmp_path, {"item": ["a1", "a2"], "expert": ["ada"] * 2, "answer": [0, 1]}))
    assert file.place(1, None) == "row 1"


# refused


SHAPES = {
    "no columns of ours": ("name,age\nada,7\n", MissingColumnError, "'name', 'age'", "Long: item, expert, answer"),
    "one column": ("item\na1\n", MissingColumnError, "'item'", "one column an expert"),
    "only the truth": ("item,label\na1,cat\n", MissingColumnError, "has no expert", "Wide: item"),
    "long, but for the answer": ("item,expert\na1,ada\n", MissingColumnError, "neither long nor wide", "item, expert"),
    "long, in other words": ("image,reader,said\n1,2,3\n", MissingColumnError, "'image', 'reader'", "Long: item"),
    "wide, in other words": ("image,ada\n1,2\n", MissingColumnError, "called item, id, case or task", "'image', 'ada'"),
    "a truth among experts": ("item,ada,truth\na1,cat,cat\n", MissingColumnError, "Is 'truth' an expert", "to label"),
    "an expert twice": ("item,ada,ada\na1,1,2\n", DuplicateExpertError, "'ada' stands twice among 3", "one column"),
    "a long column twice": ("item,expert,answer,answer\n1,2,3,4\n", MissingColumnError, "neither", "Long: item"),
    "nothing": ("", FileFormatError, "its first line is empty", "names of its columns"),
    "blanks in front": ("  \nitem,expert,answer\n", FileFormatError, "its first line is empty", "names of its"),
    "a header that does not end": ('item,"expert,answer\n', FileFormatError, "line 1 does not end", "Close the quote"),
    "bytes in sixteens": (LONG.encode("utf-16"), FileFormatError, "UTF-16", "CSV UTF-8"),
    "a header of another alphabet": ("item,año\n".encode("latin-1"), FileFormatError, "line 1 is not UTF-8", "UTF-8"),
    "parquet": (b"PAR1....", FileFormatError, "it is parquet, not text", ".parquet"),
    "a spreadsheet": (b"PK\x03\x04..", FileFormatError, "a spreadsheet or an archive", "Save it as CSV"),
    "a picture": (b"\x89PNG\r\n\x1a\n", FileFormatError, "line 1 is not UTF-8", "UTF-8"),
}


@pytest.mark.parametrize(("content", "error", "said", "fix"), SHAPES.values(), ids=SHAPES)
def test_what_is_no_table_of_answers_is_refused(content, error, said, fix, tmp_path):
    with refused(error, said, fix, "answers.csv"):
        read_answer_file(answer_csv(tmp_path, content))


@pytest.mark.parametrize("name", ["answers.csv", "answers.parquet"])
def test_a_table_that_is_not_there_is_said_so(name, tmp_path):
    with refused(FileFormatError, name, "No such file", ".csv or .parquet"):
        read_answer_file(tmp_path / name)


def test_a_folder_is_no_table(tmp_path):
    for name in ("answers.csv", "answers.parquet"):
        (tmp_path / name).mkdir()
        with refused(FileFormatError, name, "Is a directory"):
            read_answer_file(tmp_path / name)


@pytest.mark.parametrize("content", [b"", LONG.encode(), b"PAR1", b"PAR1\0\0\0\0PAR1"])
def test_what_is_no_parquet_is_refused(content, tmp_path):
    with refused(FileFormatError, "answers.parquet", "no parquet file"):
        read_answer_file(answer_csv(tmp_path, content, "answers.parquet"))


def test_text_in_parquet_that_is_no_unicode_is_refused(tmp_path):
    bad = pa.array([b"\xff"], pa.binary()).view(pa.string())
    for change in ("item", "expert", "answer", "elsewhere"):
        columns = {"item": ["a1"], "expert": ["ada"], "answer": ["cat"], change: bad}
        with refused(FileFormatError, "answers.parquet", "UTF8"):
            read_answer_file(answer_parquet(tmp_path, columns))


# names and numbers


def test_names_are_those_of_answers_and_truths(tmp_path):
    assert read_answer_file(answer_csv(tmp_path, LONG)).names() == ["cat", "dog", "owl"]
    assert read_answer_file(answer_csv(tmp_path, "item,ada\na1,0\na2,2.0\n")).names() == []


MIXED = {
    "an answer": (
        "item,expert,answer\na1,ada,cat\n\na2,ada,1\na3,ada,dog\n",
        "line 4: '1' beside 'cat', 'dog'; 1 of 3",
    ),
    "a truth": ("item,expert,answer,label\na1,ada,cat,cat\na2,bo,dog,7\n", "line 3: '7' beside 'cat', 'dog'; 1 of 2"),
    "a name among numbers": ("item,expert,answer\na1,ada,0\na2,ada,1\na3,ada,dog\n", "line 4: 'dog' beside '0', '1'"),
    "in a wide one": ("item,ada,bo\na1,cat,dog\na2,owl,3\n", "line 3, column 'bo': '3' beside 'cat', 'dog', 'owl'"),
    "a truth in a wide one": (
        "item,ada,bo,label\na1,cat,dog,cat\na2,owl,cat,3\n",
        "line 3, column 'label': '3' beside",
    ),
}


@pytest.mark.parametrize(("text", "said"), MIXED.values(), ids=MIXED)
def test_names_among_numbers_are_refused_where_they_stand(text, said, tmp_path):
    with refused(LabelError, said, "--classes"):
        read_answer_file(answer_csv(tmp_path, text)).names()


@pytest.mark.parametrize("column", [pa.array([[1]]), pa.array([{"a": 1}]), pa.array([b"1"]), pa.array([1], "date32")])
def test_a_class_is_a_name_or_a_number(column, tmp_path):
    file = read_answer_file(answer_parquet(tmp_path, {"item": ["a1"], "expert": ["ada"], "answer": column}))
    with refused(LabelError, "answers.parquet", "'answer' must hold the names"):
        file.class_column("answer", None)


def test_known_columns_may_be_written_in_capitals(tmp_path):
    (tmp_path / "answers.csv").write_text("Item, Expert ,ANSWER,Label\na1,ada,cat,dog\n")
    table = read_answer_file(tmp_path / "answers.csv").table.to_pydict()
    assert table == {"item": ["a1"], "expert": ["ada"], "answer": ["cat"], "label": ["dog"]}


@pytest.mark.parametrize("name", ["item", "id", "case", "task"])
def test_the_case_may_be_called_so_in_long_tables_too(name, tmp_path):
    (tmp_path / "answers.csv").write_text(f"{name},expert,answer\na1,ada,cat\n")
    assert read_answer_file(tmp_path / "answers.csv").table.to_pydict()["item"] == ["a1"]
