"""Elementwise operations of large arrays, several at a time: what comes between stays in the cache."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from itertools import pairwise

from lindiff.programs import prepared
from lindiff.programs.cells import Cells
from lindiff.programs.operation import Operation
from lindiff.programs.passes.steps import Step, Touched, touched

# Where the elements of an operand lie: bytes behind the beginning of its root, and from one to the next.
Window = tuple[int, int]

__all__ = ["BLOCK", "FEWEST", "fused"]

# Elements of a block, and those from which on operations are joined.
BLOCK = 1024
FEWEST = 3072

# Steps that are put off until a group is done, at the most: each is looked at again for the next group.
_PUT_OFF = 128
# Cells that a group works on, at the most: the machine hands over no more addresses.
_CELLS = 255
# A line of the processor's cache. So far apart lie the blocks of what comes between, too: some of NumPy's
# loops take another way where one array begins where the other one ends.
_LINE = 64


def fused(steps: list[Step], cells: Cells, block: int = BLOCK, fewest: int = FEWEST) -> list[Step]:
    """The same steps with elementwise operations in groups that go through their arrays block by block.

    Parameters
    ----------
    steps : list of Step
    cells : Cells
    block, fewest : int
        Elements of a block, a multiple of 64, and those from which on it pays.

    Notes
    -----
    The first operation that may be joined opens a group.  Those behind it join where they go through as many
    elements and meet none that is put off; what depends on the group is put off until it is done, all else is
    done before.  What only the group uses takes no more memory than a block.  An operation does not go ahead
    of what is put off if its result had to wait in memory then.
    """
    if not any(_may_join(step, fewest) for step in steps):
        return steps
    users: Counter[int] = Counter()
    for step in steps:
        users.update(touched(step, cells).all)
    pending = deque(steps)
    done: list[Step] = []
    while pending:
        step = pending.popleft()
        group = _Group(cells)
        if not isinstance(step, Operation) or not _may_join(step, fewest) or not group.join(step):
            done.append(step)
            continue
        group, put_off = _gather(group, pending, done, fewest, users)
        done.append(group.members[0] if len(group.members) == 1 else group.joined(users, block))
        pending.extendleft(reversed(put_off))
    return done


def _may_join(step: Step, fewest: int) -> bool:
    return isinstance(step, Operation) and step.prepared.n >= fewest


def _gather(
    group: _Group, pending: deque[Step], done: list[Step], fewest: int, users: Counter[int]
) -> tuple[_Group, list[Step]]:
    """Let what follows join a group, or be done before it; the group, and the steps that are put off."""
    put_off: list[Step] = []
    ahead: list[Step] = []  # what is put off, and what joins after the first of that
    behind = Touched()
    while pending and len(put_off) < _PUT_OFF:
        step = pending.popleft()
        touches = touched(step, group.cells)
        free = not touches.meets(behind)
        if isinstance(step, Operation) and _may_join(step, fewest):
            if free and group.join(step):
                if put_off:
                    ahead.append(step)
                continue
        elif free and not touches.meets(group.touches):
            done.append(step)
            continue
        put_off.append(step)
        ahead.append(step)
        behind.add(touches)
    return _without_waiting(group, ahead, {id(step) for step in put_off}, users)


def _without_waiting(
    group: _Group, ahead: list[Step], put_off: set[int], users: Counter[int]
) -> tuple[_Group, list[Step]]:
    """Put those off, too, that have gone ahead and whose results wait in memory then."""
    cells = group.cells
    members = group.members
    while len(ahead) > len(put_off):
        between = group.between(users)
        first: dict[int, int] = {}
        for member, touches in zip(members, group.each, strict=True):
            for root in touches.all:
                first.setdefault(root, id(member))
        behind = Touched()
        leaving = set()
        for step in ahead:
            touches = touched(step, cells)
            new = {root for root in touches.writes if first.get(root) == id(step)}
            waits = id(step) not in put_off and any(
                root not in between and not cells.is_needed(root) for root in new
            )
            if waits or id(step) in put_off or touches.meets(behind):
                behind.add(touches)
                leaving.add(id(step))
        if leaving == put_off:
            break
        put_off = leaving
        members = [member for member in members if id(member) not in put_off]
        group = _Group(cells)
        for member in members:
            group.join(member)
    return group, [step for step in ahead if id(step) in put_off]


class _Group:
    """Operations that go through as many elements, none of which meets another one."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.members: list[Operation] = []
        self.each: list[Touched] = []  # what a member touches
        self.touches = Touched()
        self.windows: dict[int, set[Window]] = {}
        self.known: set[int] = set()

    def join(self, operation: Operation) -> bool:
        """Take an operation in; False where that cannot be."""
        n = operation.prepared.n
        new = {cell for cell in operation.cells if cell not in self.known}
        if len(self.known) + len(new) > _CELLS or (self.members and n != self.members[0].prepared.n):
            return False
        if any(self.cells.is_owned(cell) for cell in operation.cells):
            return False  # nobody knows where
        touches = touched(operation, self.cells)
        windows = {root: set(self.windows.get(root, ())) for root in touches.all}
        for root, window in self._windows(operation):
            windows[root].add(window)
        for root, found in windows.items():
            written = root in touches.writes or root in self.touches.writes
            if written and not _lie_apart(found, n):
                return False
        self.known |= new
        self.members.append(operation)
        self.each.append(touches)
        self.touches.add(touches)
        self.windows.update(windows)
        return True

    def _windows(self, operation: Operation) -> list[tuple[int, Window]]:
        """Of each operand its root and where it lies there."""
        found = []
        for i, cell in enumerate(operation.cells):
            window = self.cells.offset(cell), operation.prepared.step(i)
            found.append((self.cells.root(cell), window))
        return found

    def joined(self, users: Counter[int], block: int) -> Operation:
        """One operation that does all; ``users`` are the steps that use a root."""
        between = self.between(users)
        places, size = self._places(between, block)
        operands: dict[int, int] = {}
        if size:
            operands[self.cells.room(size)] = 0
        members = []
        for k, member in enumerate(self.members):
            at: list[tuple[int, int, bool]] = []
            for cell in member.cells:
                root = self.cells.root(cell)
                if root in between:
                    at.append((0, places[k][root], False))
                else:
                    at.append((operands.setdefault(cell, len(operands)), 0, True))
            members.append((member.prepared, member.quiet, at))
        n = self.members[0].prepared.n
        quiet = all(member.quiet for member in self.members)
        numbers = [number for member in self.members for number in member.of]
        of = tuple(dict.fromkeys(numbers))
        return Operation(prepared.group(n, block, members), list(operands), quiet, of)

    def _places(self, between: set[int], block: int) -> tuple[list[dict[int, int]], int]:
        """Where each member finds a block of each of these roots, and how many bytes all of them take.

        A block goes to the next root once it is used for the last time, to a result at once where it may be
        written over an operand.
        """
        steps: dict[int, int] = {}
        last: dict[int, int] = {}
        for k, member in enumerate(self.members):
            for root, (_, step) in self._windows(member):
                if root in between:
                    steps[root], last[root] = step, k
        free: dict[int, list[int]] = defaultdict(list)
        taken: dict[int, int] = {}
        places: list[dict[int, int]] = []
        end = 0
        for k, (member, touches) in enumerate(zip(self.members, self.each, strict=True)):
            roots = sorted(touches.all & between)
            before = [x for x in roots if last[x] == k and x in taken] if member.prepared.exact else []
            for root in before:
                free[steps[root]].append(taken[root])
            for root in roots:
                if root in taken:
                    continue
                step = steps[root]
                if free[step]:
                    taken[root] = free[step].pop()
                    continue
                taken[root] = end
                end += -(-block * step // _LINE) * _LINE + _LINE
            places.append({root: taken[root] for root in roots})
            for root in roots:
                if last[root] == k and root not in before:
                    free[steps[root]].append(taken[root])
        return places, end

    def between(self, users: Counter[int]) -> set[int]:
        """The roots that nobody else uses, and of which all is written before any of it is read."""
        own: Counter[int] = Counter()
        read_first: set[int] = set()
        for touches in self.each:
            read_first.update(root for root in touches.reads if root not in own)
            own.update(touches.all)
        n = self.members[0].prepared.n
        return {
            root
            for root, windows in self.windows.items()
            if self.cells.size(root) >= 0
            and not self.cells.is_needed(root)
            and root not in read_first
            and own[root] == users[root]
            and len(windows) == 1
            and _is_all_of(next(iter(windows)), n, self.cells.size(root))
        }


def _is_all_of(window: Window, n: int, size: int) -> bool:
    offset, step = window
    return offset == 0 and n * step == size


def _lie_apart(windows: set[Window], n: int) -> bool:
    """Whether elements of different windows have no memory in common."""
    if len(windows) == 1:
        return True
    spans = sorted(
        (offset + min(0, (n - 1) * step), offset + max(0, (n - 1) * step) + (abs(step) or 16))
        for offset, step in windows
    )
    return all(first[1] <= second[0] for first, second in pairwise(spans))
