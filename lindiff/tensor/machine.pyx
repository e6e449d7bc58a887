"""Nests of loops over integer forms of their indices, in compiled code.

Every array is read and written at an integer form of the loops, and the innermost loop is one of NumPy's over
strided operands.  Nothing is computed beside it but these forms.
"""

cimport cython
cimport numpy as cnp
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t
from libc.string cimport memset

from lindiff.kernels.loops cimport Loop, Operand, Program, find_loop
from lindiff.kernels.sizes cimport MOST_THREADS
from lindiff.kernels.threads cimport run_tasks, threads_for
from lindiff.tensor.forms cimport floor_div, keep_from

import numpy as np

cnp.import_array()

cdef enum:
    DEEPEST = 16       # loops
    MOST = 512         # operands and stages of a body
    INNERMOST = 1024   # numbers between two looks at the loops


cdef enum Source:
    ELEMENT        # of an array
    OR_ZERO        # of an array, 0 outside
    WRAPPED        # of an array, from its other end outside
    COORDINATE     # the value of a form
    BRACKET        # 1 where forms hold, 0 elsewhere
    RESULT         # of a stage


def block_length():
    """How many numbers of the innermost loop are summed beside the result."""
    return INNERMOST


def sources():
    """The numbers of the kinds of operands."""
    return {"element": ELEMENT, "or zero": OR_ZERO, "wrapped": WRAPPED, "coordinate": COORDINATE,
            "bracket": BRACKET, "result": RESULT}


cdef struct Level:
    int lower, upper, congruences       # how many of each
    int64_t *forms                      # these, one after the other


cdef struct Input:
    Source source
    int place              # of the array, or of the stage
    int guards             # forms that hold inside the array, or in the bracket
    int64_t *form          # of the place in the array, in bytes, or of the value; guards behind it
    char *data


cdef struct Part:          # of the outermost loop, for one thread
    void *nest
    void **programs
    char *to
    char *memory           # blocks of its own
    int number, count
    bint puts              # instead of combining with what is there


@cython.final
cdef class Nest:
    """The reduction of a body over loops, into an array.

    A form is a row of integers: one for each loop, outermost first, a constant, and a divisor or a modulus;
    in brackets 0 where it is not negative.

    Parameters
    ----------
    levels : list of (list of form, list of form, list of form)
        Of each loop, what bounds it from below and above, and what has to be divisible.
    inputs : list of (source, place, form, list of form)
    stages : list of (program, list of int)
        A `Program` of up to four numbers, and which inputs these are.  An input of source ``RESULT`` is what
        the stage of that place gives.
    body : int
        The input that is reduced, or -1 for the product of two.
    factors : (int, int)
        These two.
    out : form
        Of the place in the result, in bytes.
    free : int
        How many of the outermost loops are the result's, if the innermost one is, too, and others between are
        summed: then these are summed in a block of the innermost one beside the result; -1 if that is not so.
    tiled : bool
        Whether the loop behind these is where the block begins.
    hull : (list of form, list of form)
        What bounds the innermost loop from below and above, given these.
    identity : float
        Where a reduction begins.
    combine : ufunc
        ``np.add``, ``np.multiply``, ``np.maximum`` or ``np.minimum``.
    kind : int
        The type number of all arrays.
    nanoseconds : float
        What it takes, if threads may have a part of the outermost loop each; 0 if they may not.
    """

    cdef int depth, count, body, kind, first, second
    cdef Py_ssize_t size
    cdef Level levels[DEEPEST]
    cdef Input inputs[MOST]
    cdef int operands[MOST][4]
    cdef int stage_count
    cdef list programs
    cdef object keeping
    cdef int64_t *out
    cdef size_t room            # bytes of blocks that a thread needs
    cdef double nanoseconds
    cdef Loop combine, multiply, positive
    cdef int free, tiled
    cdef Level hull
    cdef double identity

    def __init__(self, list levels, list inputs, list stages, int body, tuple factors, list out, int free,
                 bint tiled, tuple hull, combine, double identity, int kind, double nanoseconds):
        cdef int k, j
        cdef int slots = 0
        cdef list numbers = []
        self.depth, self.count, self.stage_count = len(levels), len(inputs), len(stages)
        if self.depth > DEEPEST:
            raise ValueError(
                f"a term over {self.depth} indices, more than {DEEPEST}: write several tensor functions"
            )
        if self.count > MOST:
            raise ValueError(
                f"a term with {self.count} elements and functions of these, more than {MOST}: write sums and "
                f"products over indices, or several tensor functions"
            )
        self.body, self.kind, self.nanoseconds = body, kind, nanoseconds
        self.first, self.second = factors
        self.free, self.tiled, self.identity = free, tiled, identity
        self.size = cnp.PyArray_DescrFromType(kind).itemsize
        self.programs = [program for program, _ in stages]
        for k, (_, given) in enumerate(stages):
            for j in range(4):
                self.operands[k][j] = given[j] if j < len(given) else -1
        places = []
        for level in levels:
            places.append(len(numbers))
            for forms in level:
                for form in forms:
                    numbers += form
        for _, _, form, guards in inputs:
            places.append(len(numbers))
            for each in [form, *guards]:
                numbers += each
        places.append(len(numbers))
        numbers += out
        places.append(len(numbers))
        for forms in hull:
            for form in forms:
                numbers += form
        cdef cnp.ndarray kept = np.array(numbers, np.int64)
        cdef int64_t *start = <int64_t *>cnp.PyArray_BYTES(kept)
        self.keeping = kept
        for k, (lower, upper, congruences) in enumerate(levels):
            self.levels[k].lower, self.levels[k].upper = len(lower), len(upper)
            self.levels[k].congruences = len(congruences)
            self.levels[k].forms = start + <Py_ssize_t>places[k]
        for k, (source, place, _, guards) in enumerate(inputs):
            self.inputs[k].source, self.inputs[k].place = source, place
            self.inputs[k].guards = len(guards)
            self.inputs[k].form = start + <Py_ssize_t>places[self.depth + k]
        self.out = start + <Py_ssize_t>places[self.depth + self.count]
        self.hull.lower, self.hull.upper, self.hull.congruences = len(hull[0]), len(hull[1]), 0
        self.hull.forms = start + <Py_ssize_t>places[self.depth + self.count + 1]
        if not (find_loop(combine, kind, &self.combine) and find_loop(np.multiply, kind, &self.multiply)
                and find_loop(np.positive, kind, &self.positive)):
            raise ValueError(f"{combine.__name__} has no loop for these numbers")
        # a block for each input, one for a product, one for sums, and those of programs
        for program in self.programs:
            slots = max(slots, (<Program>program).slots)
        self.room = (self.count + 2 + slots) * INNERMOST * 16

    def run(self, list arrays, cnp.ndarray out, bint puts=False):
        """Reduce into what is in ``out``; or put there what nothing is summed of, whatever is in it."""
        cdef int k, count = threads_for(self.nanoseconds)
        cdef Part parts[MOST_THREADS]
        cdef char *memory = <char *>PyMem_Malloc(count * self.room)
        if memory == NULL:
            raise MemoryError()
        for k in range(self.count):
            if self.inputs[k].source in (ELEMENT, OR_ZERO, WRAPPED):
                self.inputs[k].data = cnp.PyArray_BYTES(<cnp.ndarray?>arrays[self.inputs[k].place])
        cdef void *programs[MOST]
        for k in range(self.stage_count):
            programs[k] = <void *>self.programs[k]
        for k in range(count):
            parts[k].nest, parts[k].programs = <void *>self, programs
            parts[k].to, parts[k].memory = cnp.PyArray_BYTES(out), memory + k * self.room
            parts[k].number, parts[k].count, parts[k].puts = k, count, puts
        try:
            with nogil:
                run_tasks(run_part, <char *>parts, sizeof(Part), count)
        finally:
            PyMem_Free(memory)

    cdef int loops(self, const Part *part) noexcept nogil:
        """All loops, but for other parts of the outermost one."""
        cdef int64_t at[DEEPEST]
        cdef int64_t last[DEEPEST]
        cdef int64_t step[DEEPEST]
        if self.depth == 0:
            self.block(at, 1, 1, part.to, 0, part)
        elif self.free < 0:
            self.nest(0, at, last, step, NULL, part.to, part)
        elif self.free == 0:
            self.tiles(at, last, step, part)
        else:
            self.around(at, last, step, part)
        return 0

    cdef int outermost(self, int64_t *at, int64_t *last, int64_t *step, const Part *part) noexcept nogil:
        """Where the outermost loop begins and ends, in a part of it."""
        cdef int64_t n, first
        self.bounds(&self.levels[0], 0, at, last, step)
        if part.count > 1 and at[0] <= last[0]:
            n = (last[0] - at[0]) // step[0] + 1
            first = at[0]
            at[0] = first + n * part.number // part.count * step[0]
            last[0] = first + (n * (part.number + 1) // part.count - 1) * step[0]
        return 0

    cdef int around(self, int64_t *at, int64_t *last, int64_t *step, const Part *part) noexcept nogil:
        """The loops of the result around those that are summed."""
        cdef int k = 0
        self.outermost(at, last, step, part)
        while k >= 0:
            if at[k] > last[k]:
                k -= 1
            elif k < self.free - 1:
                k += 1
                self.bounds(&self.levels[k], k, at, last, step)
                continue
            else:
                self.tiles(at, last, step, part)
            if k >= 0:
                at[k] += step[k]
        return 0

    cdef int tiles(self, int64_t *at, int64_t *last, int64_t *step, const Part *part) noexcept nogil:
        """What is summed for the innermost loop, a block of it at a time, beside the result."""
        cdef int innermost = self.depth - 1
        cdef int64_t i, low, high, tile[2]
        cdef char *sums = part.memory + (self.count + 1) * INNERMOST * 16
        cdef Operand x, out
        self.limits(&self.hull, self.free, at, &low, &high)
        while low <= high:
            tile[0], tile[1] = low, min(high, low + INNERMOST - 1)
            if self.identity == 0.0:
                memset(sums, 0, (tile[1] - low + 1) * self.size)
            else:
                for i in range(tile[1] - low + 1):
                    put(sums + i * self.size, self.identity, self.kind)
            at[self.free] = low
            self.nest(self.free + self.tiled, at, last, step, tile, sums, part)
            at[innermost] = low
            x.data, x.step = sums, self.size
            out.data, out.step = part.to + place(self.out, at, self.depth), stride(self.out, 1, self.depth)
            combine(&self.combine, &x, &out, tile[1] - low + 1)
            low = tile[1] + 1
        return 0

    cdef int nest(self, int outer, int64_t *at, int64_t *last, int64_t *step, const int64_t *tile, char *to,
                  const Part *part) noexcept nogil:
        """The loops from one on, in a tile of the innermost one or in all of it."""
        cdef int k = outer, innermost = self.depth - 1
        if outer == 0 and tile == NULL:
            self.outermost(at, last, step, part)
        else:
            self.bounds(&self.levels[k], k, at, last, step)
        while k >= outer:
            if k == innermost:
                self.run_of_blocks(at, last[k], step[k], tile, to, part)
                k -= 1
            elif at[k] > last[k]:
                k -= 1
            else:
                k += 1
                self.bounds(&self.levels[k], k, at, last, step)
                continue
            if k >= outer:
                at[k] += step[k]
        return 0

    cdef int bounds(self, const Level *level, int k, int64_t *at, int64_t *last,
                    int64_t *step) noexcept nogil:
        """Where loop k begins and ends, given those around it."""
        cdef const int64_t *form = level.forms + (level.lower + level.upper) * (self.depth + 2)
        self.limits(level, k, at, &at[k], &last[k])
        step[k] = 1
        for _ in range(level.congruences):
            keep_to(form[k], value(form, at, k, self.depth), form[self.depth + 1], &at[k], &last[k], &step[k])
            form += self.depth + 2
        return 0

    cdef int limits(self, const Level *level, int k, const int64_t *at, int64_t *first,
                    int64_t *last) noexcept nogil:
        """The bounds of a loop, given the k outermost ones."""
        cdef const int64_t *form = level.forms
        cdef int i, width = self.depth + 2
        cdef int64_t bound, low = 0, high = 0
        for i in range(level.lower):
            bound = -floor_div(-value(form, at, k, self.depth), form[width - 1])
            low = bound if i == 0 or bound > low else low
            form += width
        for i in range(level.upper):
            bound = floor_div(value(form, at, k, self.depth), form[width - 1])
            high = bound if i == 0 or bound < high else high
            form += width
        first[0], last[0] = low, high
        return 0

    cdef int run_of_blocks(self, int64_t *at, int64_t last, int64_t step, const int64_t *tile, char *to,
                           const Part *part) noexcept nogil:
        """The innermost loop from ``at``, a block at a time; in a tile, whose sums are ``to``."""
        cdef int k = self.depth - 1
        cdef int64_t length, n
        if tile != NULL:
            if at[k] < tile[0]:
                at[k] += (tile[0] - at[k] + step - 1) // step * step
            last = min(last, tile[1])
        n = (last - at[k]) // step + 1 if last >= at[k] else 0
        while n > 0:
            length = min(n, <int64_t>INNERMOST)
            if tile != NULL:
                self.block(at, length, step, to + (at[k] - tile[0]) * self.size, step * self.size, part)
            else:
                self.block(at, length, step, to + place(self.out, at, self.depth),
                           stride(self.out, step, self.depth), part)
            n -= length
            at[k] += length * step
        return 0

    cdef int block(self, const int64_t *at, int64_t n, int64_t step, char *to, Py_ssize_t to_step,
                   const Part *part) noexcept nogil:
        """n numbers of the body, reduced into what is ``to_step`` bytes apart."""
        cdef Operand operands[MOST]
        cdef Operand given[4]
        cdef int k, j, depth = self.depth
        cdef Input *input
        cdef Operand out
        cdef char *buffer
        cdef char *rest = part.memory + (self.count + 2) * INNERMOST * 16
        for k in range(self.count):
            input = &self.inputs[k]
            buffer = part.memory + k * INNERMOST * 16
            if input.source == ELEMENT:
                operands[k].data = input.data + place(input.form, at, depth)
                operands[k].step = stride(input.form, step, depth)
            elif input.source == RESULT:
                for j in range(4):
                    if self.operands[input.place][j] >= 0:
                        given[j] = operands[self.operands[input.place][j]]
                (<Program>part.programs[input.place]).over_blocks(given, n, buffer, NULL, False, rest)
                operands[k].data, operands[k].step = buffer, self.size
            else:
                self.fill(input, at, n, step, buffer)
                operands[k].data, operands[k].step = buffer, self.size
        out.data, out.step = to, to_step
        if part.puts:
            self.put_block(operands, &out, n)
        elif self.body >= 0:
            combine(&self.combine, &operands[self.body], &out, n)
        elif self.kind == cnp.NPY_DOUBLE:
            add_product[double](&operands[self.first], &operands[self.second], &out, n, 0.0)
        elif self.kind == cnp.NPY_FLOAT:
            add_product[float](&operands[self.first], &operands[self.second], &out, n, 0.0)
        else:
            self.add_complex_product(&operands[self.first], &operands[self.second], &out, n, part)
        return 0

    cdef int put_block(self, const Operand *operands, const Operand *out, int64_t n) noexcept nogil:
        """The body itself."""
        cdef char *args[3]
        cdef cnp.npy_intp steps[3]
        cdef cnp.npy_intp length = n
        cdef const Loop *loop = &self.multiply if self.body < 0 else &self.positive
        cdef int k, count = 2 if self.body < 0 else 1
        cdef int given[2]
        given[0], given[1] = self.first if self.body < 0 else self.body, self.second
        for k in range(count):
            args[k], steps[k] = operands[given[k]].data, operands[given[k]].step
        args[count], steps[count] = out.data, out.step
        loop.function(args, &length, steps, loop.data)
        return 0

    cdef int add_complex_product(self, const Operand *x, const Operand *y, Operand *out, int64_t n,
                                 const Part *part) noexcept nogil:
        cdef char *args[3]
        cdef cnp.npy_intp steps[3]
        cdef cnp.npy_intp length = n
        cdef Operand product
        product.data, product.step = part.memory + self.count * INNERMOST * 16, self.size
        args[0], args[1], args[2] = x.data, y.data, product.data
        steps[0], steps[1], steps[2] = x.step, y.step, product.step
        self.multiply.function(args, &length, steps, self.multiply.data)
        combine(&self.combine, &product, out, n)
        return 0

    cdef int fill(self, const Input *input, const int64_t *at, int64_t n, int64_t step,
                  char *to) noexcept nogil:
        """Put what is no plain element into the buffer of an input."""
        cdef int depth = self.depth, g, width = self.depth + 2
        cdef int64_t i, first = 0, last = n - 1, offset, by
        cdef const int64_t *guard
        if input.source == COORDINATE:
            offset, by = value(input.form, at, depth, depth), input.form[depth - 1] * step if depth else 0
            for i in range(n):
                put(to + i * self.size, <double>(offset + i * by) / input.form[depth + 1], self.kind)
            return 0
        if input.source == WRAPPED:
            self.wrap(input, at, n, step, to)
            return 0
        for g in range(input.guards):
            guard = input.form + (g + 1) * width
            if input.source == BRACKET and guard[depth + 1]:  # a modulus
                continue
            keep_from(value(guard, at, depth, depth), guard[depth - 1] * step if depth else 0, &first, &last)
        memset(to, 0, n * self.size)
        if first > last:
            return 0
        if input.source == BRACKET:
            for i in range(first, last + 1):
                put(to + i * self.size, 1.0, self.kind)
            for g in range(input.guards):
                guard = input.form + (g + 1) * width
                if guard[depth + 1]:
                    by = guard[depth - 1] * step if depth else 0
                    for i in range(first, last + 1):
                        if (value(guard, at, depth, depth) + i * by) % guard[depth + 1]:
                            put(to + i * self.size, 0.0, self.kind)
            return 0
        by = stride(input.form, step, depth)
        offset = place(input.form, at, depth)
        for i in range(first, last + 1):
            copy(to + i * self.size, input.data + offset + i * by, self.size)
        return 0

    cdef int wrap(self, const Input *input, const int64_t *at, int64_t n, int64_t step,
                  char *to) noexcept nogil:
        """Elements of an array whose axes are rings.  Two guards are a subscript, with the length of its axis
        for a divisor, and the bytes from one place to the next, with the subscript's divisor."""
        cdef int depth = self.depth, g, width = self.depth + 2
        cdef int64_t i, offset, at_ring, length
        cdef const int64_t *guard
        for i in range(n):
            offset = 0
            for g in range(0, input.guards, 2):
                guard = input.form + (g + 1) * width
                length = guard[depth + 1]
                at_ring = value(guard, at, depth, depth) + (guard[depth - 1] * step * i if depth else 0)
                at_ring = exactly(at_ring, guard[width + depth + 1]) % length
                offset += (at_ring + length if at_ring < 0 else at_ring) * guard[width + depth]
            copy(to + i * self.size, input.data + offset, self.size)
        return 0


cdef void run_part(void *task) noexcept nogil:
    cdef const Part *part = <const Part *>task
    (<Nest>part.nest).loops(part)


cdef inline int64_t value(const int64_t *form, const int64_t *at, int loops, int depth) noexcept nogil:
    """A form of the outermost loops."""
    cdef int64_t total = form[depth]
    cdef int k
    for k in range(loops):
        total += form[k] * at[k]
    return total


cdef inline int64_t exactly(int64_t x, int64_t divisor) noexcept nogil:
    return x if divisor == 1 else x // divisor if x >= 0 else -(-x // divisor)


cdef inline int64_t place(const int64_t *form, const int64_t *at, int depth) noexcept nogil:
    """A form of all loops, by its divisor."""
    return exactly(value(form, at, depth, depth), form[depth + 1])


cdef inline int64_t stride(const int64_t *form, int64_t step, int depth) noexcept nogil:
    """How far a form goes with a step of the innermost loop."""
    return exactly(form[depth - 1] * step, form[depth + 1]) if depth else 0


cdef int keep_to(int64_t c, int64_t rest, int64_t modulus, int64_t *at, int64_t *last,
                 int64_t *step) noexcept nogil:
    """Let a loop take the places where ``c at + rest`` is divisible by the modulus alone."""
    cdef int64_t k, common
    cdef int64_t by = c * (step[0] % modulus) % modulus, left = (c * (at[0] % modulus) + rest) % modulus
    by, left = by + modulus if by < 0 else by, left + modulus if left < 0 else left
    common = gcd(by, modulus)
    if left % common != 0:
        at[0] = last[0] + 1  # nowhere
        return 0
    modulus //= common
    k = -(left // common) * inverse(by // common, modulus) % modulus
    k = k + modulus if k < 0 else k
    if at[0] > last[0] or k > (last[0] - at[0]) // step[0]:
        at[0] = last[0] + 1
        return 0
    at[0] += step[0] * k
    if modulus > (last[0] - at[0]) // step[0]:
        last[0] = at[0]  # the only one
    else:
        step[0] *= modulus
    return 0


cdef int64_t gcd(int64_t x, int64_t y) noexcept nogil:
    while y:
        x, y = y, x % y
    return x


cdef int64_t inverse(int64_t x, int64_t modulus) noexcept nogil:
    """Of a number that has nothing in common with the modulus."""
    cdef int64_t a = modulus, b = x, s = 0, t = 1, q
    while b:
        q = a // b
        a, b = b, a - q * b
        s, t = t, s - q * t
    return s % modulus


cdef int put(char *to, double x, int kind) noexcept nogil:
    if kind == cnp.NPY_DOUBLE:
        (<double *>to)[0] = x
    elif kind == cnp.NPY_FLOAT:
        (<float *>to)[0] = <float>x
    elif kind == cnp.NPY_CDOUBLE:
        (<double *>to)[0], (<double *>to)[1] = x, 0.0
    else:
        (<float *>to)[0], (<float *>to)[1] = <float>x, <float>0.0
    return 0


cdef inline int copy(char *to, const char *x, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i
    if size == 8:
        (<double *>to)[0] = (<const double *>x)[0]
        return 0
    for i in range(size):
        to[i] = x[i]
    return 0


cdef int combine(const Loop *loop, const Operand *x, const Operand *out, int64_t n) noexcept nogil:
    """``out = loop(out, x)``; with a step of 0 of the result a reduction."""
    cdef char *args[3]
    cdef cnp.npy_intp steps[3]
    cdef cnp.npy_intp length = n
    args[0], args[1], args[2] = out.data, x.data, out.data
    steps[0], steps[1], steps[2] = out.step, x.step, out.step
    loop.function(args, &length, steps, loop.data)
    return 0


ctypedef fused number:
    double
    float


cdef int add_product(const Operand *x, const Operand *y, const Operand *out, int64_t n,
                     number _) noexcept nogil:
    """``out += x y``, one number for each or all in one."""
    cdef int64_t i, size = sizeof(number)
    cdef const char *a = x.data
    cdef const char *b = y.data
    cdef char *to = out.data
    cdef number total = 0, scale
    cdef number sums[8]
    if x.step == 0 and y.step != 0:
        return add_product[number](y, x, out, n, <number>0.0)
    if out.step == 0:
        if x.step == size and y.step == size:
            memset(sums, 0, sizeof(sums))
            for i in range(0, n - 7, 8):
                add_eight[number](<const number *>a + i, <const number *>b + i, sums)
            for i in range(n - n % 8, n):
                total += (<const number *>a)[i] * (<const number *>b)[i]
            for i in range(8):
                total += sums[i]
        else:
            for i in range(n):
                total += (<const number *>(a + i * x.step))[0] * (<const number *>(b + i * y.step))[0]
        (<number *>to)[0] += total
    elif y.step == 0:
        scale = (<const number *>b)[0]
        if x.step == size and out.step == size:
            for i in range(n):
                (<number *>to)[i] += scale * (<const number *>a)[i]
        else:
            for i in range(n):
                (<number *>(to + i * out.step))[0] += scale * (<const number *>(a + i * x.step))[0]
    elif x.step == size and y.step == size and out.step == size:
        for i in range(n):
            (<number *>to)[i] += (<const number *>a)[i] * (<const number *>b)[i]
    else:
        for i in range(n):
            (<number *>(to + i * out.step))[0] += (
                (<const number *>(a + i * x.step))[0] * (<const number *>(b + i * y.step))[0]
            )
    return 0


cdef inline int add_eight(const number *a, const number *b, number *sums) noexcept nogil:
    cdef int i
    for i in range(8):
        sums[i] += a[i] * b[i]
    return 0
