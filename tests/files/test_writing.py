"""Outputs stand whole, or what stood there before stands; nothing hidden stays behind."""

import errno
import os
import stat

import pytest
from filed import nothing_left
from refusal import refused

from racer.errors import OutputError, SettingError
from racer.writing import replace_file, whole_file, whole_folder

OURS = r"a|b\.txt"
FAILURES = [ValueError("bad"), KeyboardInterrupt(), SystemExit(3), MemoryError(), SettingError("a", "b", "c")]


def put_file(path, text="new", failure=None):
    with whole_file(path) as hidden:
        hidden.write_text(text)
        if failure is not None:
            raise failure


def put_folder(path, text="new", failure=None):
    with whole_folder(path, OURS) as hidden:
        (hidden / "a").write_text(text)
        if failure is not None:
            raise failure


def text_of(path):
    return (path / "a" if path.is_dir() else path).read_text()


PUT = pytest.mark.parametrize("put", [put_file, put_folder])


@PUT
def test_an_output_stands_where_it_was_asked_for(put, tmp_path):
    put(tmp_path / "out")
    assert text_of(tmp_path / "out") == "new" and os.listdir(tmp_path) == ["out"]


@PUT
def test_the_next_replaces_it(put, tmp_path):
    put(tmp_path / "out", "old")
    put(str(tmp_path / "out"), "new")
    assert text_of(tmp_path / "out") == "new" and os.listdir(tmp_path) == ["out"]


def test_a_folder_that_is_replaced_keeps_nothing_of_the_old(tmp_path):
    with whole_folder(tmp_path / "out", OURS) as hidden:
        (hidden / "b.txt").write_text("old")
    put_folder(tmp_path / "out")
    assert os.listdir(tmp_path / "out") == ["a"]


@PUT
def test_folders_above_are_made(put, tmp_path):
    put(tmp_path / "x" / "y" / "out")
    assert text_of(tmp_path / "x" / "y" / "out") == "new"


@PUT
@pytest.mark.parametrize("failure", FAILURES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("where", ["out", "x/y/out"])
def test_a_failure_inside_leaves_nothing_and_is_what_it_was(put, failure, where, tmp_path):
    with nothing_left(tmp_path), pytest.raises(type(failure)) as caught:
        put(tmp_path / where, failure=failure)
    assert caught.value is failure


@PUT
@pytest.mark.parametrize("failure", FAILURES, ids=lambda one: type(one).__name__)
def test_a_failure_inside_leaves_what_stood_there(put, failure, tmp_path):
    put(tmp_path / "out", "old")
    with nothing_left(tmp_path), pytest.raises(type(failure)):
        put(tmp_path / "out", failure=failure)
    assert text_of(tmp_path / "out") == "old"


def test_folders_above_that_others_use_by_now_stay(tmp_path):
    def interrupted():
        with whole_file(tmp_path / "x" / "out"):
            (tmp_path / "x" / "theirs").write_text("")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(tmp_path / "x") == ["theirs"]


@PUT
@pytest.mark.parametrize("failure", [OSError(errno.EIO, "broken"), KeyboardInterrupt()], ids=["disk", "Ctrl-C"])
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", [1, 2])
def test_a_crash_at_any_step_leaves_the_old_or_the_new(put, failure, done, step, tmp_path, monkeypatch):
    put(tmp_path / "out", "old")
    steps = iter(range(1, 9))

    def crashing(really):
        def move(*paths):
            crashes = next(steps) == step
            if done or not crashes:
                really(*paths)
            if crashes:
                raise failure

        return move

    for name in ("rename", "replace"):
        monkeypatch.setattr(os, name, crashing(getattr(os, name)))
    try:
        put(tmp_path / "out", "new")
    except (OutputError, KeyboardInterrupt):
        assert next(steps) > step
    assert text_of(tmp_path / "out") in ("old", "new") and os.listdir(tmp_path) == ["out"]


@PUT
def test_a_full_disk_is_said_so(put, tmp_path):
    with nothing_left(tmp_path), refused(OutputError, "out'", "No space left", "nothing was left there"):
        put(tmp_path / "out", failure=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))


def test_a_file_cannot_stand_where_a_folder_does(tmp_path):
    with nothing_left(tmp_path), refused(OutputError, "it is a folder", "Name a file"):
        put_file(tmp_path)
    with refused(OutputError, "it is a folder"):
        put_file(".")


def test_a_folder_cannot_stand_where_a_file_does(tmp_path):
    (tmp_path / "out").write_text("theirs")
    with refused(OutputError, "it is a file", "Name a folder"):
        put_folder(tmp_path / "out")
    assert (tmp_path / "out").read_text() == "theirs" and os.listdir(tmp_path) == ["out"]


@PUT
def test_nothing_can_stand_below_a_file(put, tmp_path):
    (tmp_path / "file").write_text("theirs")
    with nothing_left(tmp_path), refused(OutputError, "out'"):
        put(tmp_path / "file" / "out")


def test_a_pipe_or_a_device_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with nothing_left(tmp_path), refused(OutputError, "no plain file"):
        put_file(tmp_path / "pipe")
    with refused(OutputError, "'/dev/null'"):
        put_file("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("theirs", ["thesis.tex", ".hidden", "a.bak", "xb.txt", "A"])
def test_a_folder_of_somebody_else_is_refused_and_untouched(theirs, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_text("old")
    (tmp_path / "out" / theirs).write_text("years of work")
    with nothing_left(tmp_path), refused(OutputError, f"it holds '{theirs}'", "1 such", "nothing was touched"):
        put_folder(tmp_path / "out")
    assert (tmp_path / "out" / theirs).read_text() == "years of work" and text_of(tmp_path / "out") == "old"


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "out").mkdir()
    put_folder(tmp_path / "out")
    assert text_of(tmp_path / "out") == "new"


def test_a_link_to_a_folder_stays_a_link(tmp_path):
    put_folder(tmp_path / "there", "old")
    (tmp_path / "link").symlink_to("there")
    put_folder(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and text_of(tmp_path / "there") == "new"
    assert sorted(os.listdir(tmp_path)) == ["link", "there"]


def test_a_link_to_a_file_stays_a_link(tmp_path):
    put_file(tmp_path / "there", "old")
    (tmp_path / "link").symlink_to("there")
    put_file(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "there").read_text() == "new"


@PUT
def test_a_link_to_nothing_yet_is_followed(put, tmp_path):
    (tmp_path / "link").symlink_to("there")
    put(tmp_path / "link")
    assert text_of(tmp_path / "there") == "new"


def test_a_link_to_itself_is_no_folder(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with nothing_left(tmp_path), refused(OutputError, "loop'"):
        put_folder(tmp_path / "loop")


@PUT
def test_a_relative_path_starts_from_here(put, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put("out")
    put("./x/../y/out")
    assert text_of(tmp_path / "out") == text_of(tmp_path / "y" / "out") == "new"


@pytest.mark.parametrize("path", [".", "", "../out", ".."])
def test_the_folder_one_works_in_is_not_replaced(path, tmp_path, monkeypatch):
    (tmp_path / "a" / "out").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "out")
    with nothing_left(tmp_path), refused(OutputError):
        put_folder(path)
    assert os.path.samefile(".", tmp_path / "a" / "out")


@PUT
def test_a_name_may_be_as_long_as_the_system_lets_it(put, tmp_path):
    for name in ("n" * 255, "é" * 127, "😀" * 63):
        put(tmp_path / name)
        assert text_of(tmp_path / name) == "new"
    with nothing_left(tmp_path), refused(OutputError, "File name too long"):
        put(tmp_path / ("n" * 256))


@PUT
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_that_cannot_be_written_is_refused(put, tmp_path):
    tmp_path.chmod(0o500)
    try:
        with refused(OutputError, "Permission denied", "can be written"):
            put(tmp_path / "out")
        with refused(OutputError, "Permission denied"):
            put(tmp_path / "x" / "out")
    finally:
        tmp_path.chmod(0o700)


@PUT
def test_a_place_that_cannot_be_looked_at_is_refused(put, tmp_path, monkeypatch):
    def closed(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    (tmp_path / "out").mkdir()
    monkeypatch.setattr(os, "stat", closed)
    with refused(OutputError, "Permission denied"):
        put(tmp_path / "out")


def test_it_is_found_out_before_the_work_that_nothing_can_be_written(tmp_path):
    for whole in (whole_file(tmp_path / "file" / "out"), whole_folder(tmp_path / "file" / "out", OURS)):
        (tmp_path / "file").write_text("")
        with refused(OutputError), whole:
            pytest.fail("the work began")


def test_a_file_is_replaced_in_one_step(tmp_path):
    replace_file(tmp_path / "out", b"old")
    replace_file(tmp_path / "out", b"new")
    assert (tmp_path / "out").read_bytes() == b"new" and os.listdir(tmp_path) == ["out"]
    with nothing_left(tmp_path), pytest.raises(OSError):  # noqa: PT011
        replace_file(tmp_path, b"new")


@PUT
def test_others_may_read_an_output_as_the_system_lets_them(put, tmp_path):
    before = os.umask(0o022)
    try:
        put(tmp_path / "out")
    finally:
        os.umask(before)
    mode = stat.S_IMODE((tmp_path / "out").stat().st_mode)
    assert mode == (0o755 if (tmp_path / "out").is_dir() else 0o644)
