"""The cache in the user's folder: whole entries or none, bounded, and never in the way."""

import os
import threading

import pytest

from profiler.store.cache import Cache, cache_root, hash_of_code


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "prof" / "made"


def test_cached_data_is_found_by_its_key_in_another_process_too():
    Cache("made", 10_000).put("key", b"data")
    assert Cache("made", 10_000).get("key") == b"data"
    assert Cache("made", 10_000).get("another key") is None


@pytest.mark.parametrize("kept", [b"", b"data"])
def test_an_entry_with_any_flipped_bit_or_cut_short_is_none(folder, kept):
    Cache("made", 10_000).put("key", kept)
    (entry,) = folder.iterdir()
    whole = entry.read_bytes()
    for position in range(len(whole)):
        entry.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        assert Cache("made", 10_000).get("key") is None
        entry.write_bytes(whole[:position])
        assert Cache("made", 10_000).get("key") is None
    entry.write_bytes(whole)
    assert Cache("made", 10_000).get("key") == kept


def test_an_entry_under_the_name_of_another_key_is_none(folder):
    cache = Cache("made", 10_000)
    cache.put("key", b"data")
    (entry,) = folder.iterdir()
    cache.put("another", b"other data")
    (other,) = set(folder.iterdir()) - {entry}
    os.replace(entry, other)
    assert cache.get("another") is None


def test_the_cache_stays_within_its_limit_and_keeps_what_was_used_last(folder):
    cache = Cache("made", 10_000)
    cache.put("first", b"x" * 900)
    for number in range(40):
        cache.put(str(number), b"x" * 900)
        assert cache.get("first")
        assert sum(entry.stat().st_size for entry in folder.iterdir()) <= 10_000
    assert cache.get("39")
    assert cache.get("0") is None


def test_data_larger_than_the_cache_is_not_kept(folder):
    Cache("made", 1_000).put("key", b"x" * 2_000)
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_or_is_a_file_keeps_nothing_and_raises_nothing(folder):
    folder.parent.mkdir(parents=True)
    folder.write_text("no folder")
    Cache("made", 10_000).put("key", b"data")
    assert Cache("made", 10_000).get("key") is None


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(folder, mode):
    """They could put an answer of their own there, whole and under the right name."""
    Cache("made", 10_000).put("key", b"theirs")
    folder.chmod(mode)
    assert Cache("made", 10_000).get("key") is None
    Cache("made", 10_000).put("another", b"mine")
    assert len(list(folder.iterdir())) == 1


def test_nor_is_one_in_a_folder_that_others_may_write_to(folder):
    """They could put a link to any folder of this user in its place, and a full cache removes what is old in there."""
    Cache("made", 10_000).put("key", b"data")
    folder.parent.chmod(0o777)
    assert Cache("made", 10_000).get("key") is None
    (entry,) = folder.iterdir()
    Cache("made", 100).put("another", b"mine")
    assert list(folder.iterdir()) == [entry]


def test_a_new_cache_is_private_whatever_new_folders_are(folder):
    before = os.umask(0)
    try:
        Cache("made", 10_000).put("key", b"data")
    finally:
        os.umask(before)
    assert Cache("made", 10_000).get("key") == b"data"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a link away")
def test_a_link_of_another_user_is_not_followed(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.parent.mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    Cache("made", 10_000).put("key", b"data")
    assert Cache("made", 10_000).get("key") == b"data"
    os.chown(folder, 4711, -1, follow_symlinks=False)
    assert Cache("made", 10_000).get("key") is None


@pytest.mark.parametrize("size", [0, 1 << 40], ids=["pipe", "a terabyte"])
def test_an_entry_that_is_a_pipe_or_has_no_end_is_none(folder, size):
    Cache("made", 10_000).put("key", b"data")
    (entry,) = folder.iterdir()
    if size:
        os.truncate(entry, size)
    else:
        entry.unlink()
        os.mkfifo(entry)
    assert Cache("made", 10_000).get("key") is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_used(folder):
    Cache("made", 10_000).put("key", b"theirs")
    os.chown(folder, 4711, -1)
    assert Cache("made", 10_000).get("key") is None


def test_deleting_everything_between_two_calls_is_safe(folder):
    cache = Cache("made", 10_000)
    cache.put("key", b"data")
    for entry in folder.iterdir():
        entry.unlink()
    folder.rmdir()
    assert cache.get("key") is None
    cache.put("key", b"data")
    assert cache.get("key") == b"data"


def test_writers_at_once_leave_whole_entries_and_nothing_aside(folder):
    def write(number):
        cache = Cache("made", 100_000)
        for _ in range(50):
            cache.put("key", bytes([number]) * 1_000)
            assert cache.get("key") in [bytes([one]) * 1_000 for one in range(4)]

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("named", ["", "relative/folder"])
def test_a_cache_home_that_is_no_absolute_path_is_ignored(monkeypatch, tmp_path, named):
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_root() == tmp_path / ".cache" / "prof"


def test_the_hash_of_code_changes_with_any_module(tmp_path):
    def hashed():
        hash_of_code.cache_clear()  # it is kept as long as a process lives
        return hash_of_code(tmp_path / "room", tmp_path / "alone.py")

    (tmp_path / "room").mkdir()
    module = tmp_path / "room" / "one.py"
    alone = tmp_path / "alone.py"
    alone.write_text("1")
    module.write_text("1")
    before = hashed()
    assert hashed() == before
    module.write_text("2")
    assert hashed() != before
    renamed = module.rename(module.with_name("other.py"))
    renamed.write_text("1")
    assert hashed() != before
    before = hashed()
    alone.write_text("2")
    assert hashed() != before
