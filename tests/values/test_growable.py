"""Rows that grow: older owners never see, lose or move anything."""

import copy
import pickle
import threading

import torch
from hypothesis import given
from hypothesis import strategies as st

from racer import Cases
from racer.growable import Bank, GrowableRows


def rows(*values):
    return torch.tensor(values, dtype=torch.float32)[:, None]


def column(grown):
    return grown.rows[:, 0].tolist()


def test_the_old_rows_stay_as_they_were():
    old = GrowableRows(rows(1, 2))
    new = old.append(rows(3))
    assert column(old) == [1, 2] and column(new) == [1, 2, 3]


def test_two_heirs_of_one_owner_do_not_see_each_other():
    parent = GrowableRows(rows(1)).append(rows(2))
    one, other = parent.append(rows(3)), parent.append(rows(4, 5))
    assert column(parent) == [1, 2] and column(one) == [1, 2, 3] and column(other) == [1, 2, 4, 5]
    assert column(one.append(rows(6))) == [1, 2, 3, 6]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 4)), max_size=12))
def test_any_family_tree_reads_like_plain_lists(births):
    """Each birth appends some new rows to some earlier owner; copies of plain lists say what all must hold."""
    owners, expected, fresh = [GrowableRows(rows(-1.0))], [[-1.0]], 0
    for who, n in births:
        parent = who % len(owners)
        more = [float(fresh + i) for i in range(n)]
        fresh += n
        owners.append(owners[parent].append(torch.tensor(more)[:, None]))
        expected.append(expected[parent] + more)
        assert [column(owner) for owner in owners] == expected


def test_room_is_doubled_so_that_few_appends_copy():
    grown, moves = GrowableRows(rows(0)), 0
    for i in range(1000):
        before = grown.rows.data_ptr()
        grown = grown.append(rows(i))
        moves += grown.rows.data_ptr() != before
    assert moves == 10  # room for 2, 4, …, 1024
    assert len(grown.rows) == 1001


def test_the_memory_that_came_in_is_never_written_to():
    given_rows = rows(1, 2, 3, 4)
    GrowableRows(given_rows[:2]).append(rows(9))
    assert given_rows[:, 0].tolist() == [1, 2, 3, 4]


def test_nothing_can_be_appended():
    leaf = rows(1, 2).requires_grad_()
    assert column(GrowableRows(leaf).append(rows(0)[:0])) == [1, 2]


def test_gradients_stay_behind():
    grown = GrowableRows(rows(1).requires_grad_()).append(rows(2).requires_grad_())
    assert not grown.rows.requires_grad and column(grown.append(rows(3))) == [1, 2, 3]


def test_threads_appending_to_one_owner_do_not_mix():
    parent = GrowableRows(rows(0)).append(rows(*range(1, 51)))
    heirs = [None] * 8

    def grow(i):
        heirs[i] = parent.append(rows(100 + i, 100 + i))

    threads = [threading.Thread(target=grow, args=(i,)) for i in range(len(heirs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [column(heir)[51:] for heir in heirs] == [[100 + i] * 2 for i in range(len(heirs))]


def test_starting_with_means_the_same_memory_walked_the_same_way():
    memory = rows(1, 2, 3, 4)
    whole = GrowableRows(memory)
    assert whole.starts_with(GrowableRows(memory[:2])) and whole.starts_with(whole)
    assert not GrowableRows(memory[:2]).starts_with(whole)
    assert not whole.starts_with(GrowableRows(memory[::2]))
    assert not whole.starts_with(GrowableRows(memory[1:]))
    assert not whole.starts_with(GrowableRows(memory.clone()))


def test_a_copy_takes_its_rows_and_not_the_room():
    grown = GrowableRows(torch.zeros(1000, 10)).append(torch.ones(1, 10))
    sent = pickle.dumps(grown)
    assert len(sent) < 1.1 * 1001 * 10 * 4
    back = pickle.loads(sent)
    assert torch.equal(back.rows, grown.rows) and torch.equal(copy.deepcopy(grown).rows, grown.rows)
    assert len(back.append(torch.ones(1, 10)).rows) == 1002


def test_a_bank_grows_in_all_its_parts():
    one = Bank.of(Cases([[3.0, 4.0]], [[0.9, 0.1]]), label=torch.tensor([0]))
    two = one.append(Bank.of(Cases([[0.0, 2.0]], [[0.2, 0.8]]), label=torch.tensor([-1])))
    assert len(one) == 1 and len(two) == 2
    assert two.cases().embedding.tolist() == [[3, 4], [0, 2]]
    assert two.cases().posterior[1].tolist() == Cases([[1.0]], [[0.2, 0.8]]).posterior[0].tolist()
    assert torch.equal(two.cases().direction, Cases([[3.0, 4.0], [0.0, 2.0]], [[0.5, 0.5]] * 2).direction)
    assert two.label.rows.tolist() == [0, -1]


def test_a_bank_of_other_posteriors_or_labels_is_another_bank():
    embedding = torch.ones(2, 1)
    bank = Bank.of(Cases(embedding, torch.tensor([[0.9, 0.1]] * 2)), label=torch.tensor([0, 1]))
    cases = bank.cases()
    assert bank.starts_with(Bank.of(cases[:1], label=torch.tensor([0])))
    assert not bank.starts_with(Bank.of(cases[:1], label=torch.tensor([1])))
    assert not bank.starts_with(Bank.of(Cases(embedding, [[0.5, 0.5]] * 2), label=torch.tensor([0, 1])))


def test_the_repr_shows_no_numbers():
    assert repr(GrowableRows(rows(1, 2)).append(rows(3))) == "GrowableRows(3 rows, room for 4)"
