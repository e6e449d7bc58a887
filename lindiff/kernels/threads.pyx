"""Threads over a batch: started for the call and joined in it, so that there is no pool to fork or to tune.

As many as the machine lends to this process, at most the OMP_NUM_THREADS that the environment gives when
lindiff is imported (or else OPENBLAS_NUM_THREADS): what holds for BLAS holds here, too.
"""

from lindiff.kernels.sizes cimport MOST_THREADS, WORTH_A_THREAD

cdef extern from "pythread.h" nogil:
    ctypedef void *PyThread_type_lock
    unsigned long PyThread_start_new_thread(void (*function)(void *) noexcept nogil, void *argument)
    unsigned long PYTHREAD_INVALID_THREAD_ID
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    int PyThread_acquire_lock(PyThread_type_lock lock, int wait)
    void PyThread_release_lock(PyThread_type_lock lock)

import os


cdef struct Job:
    Work work
    void *task
    PyThread_type_lock running


def available():
    """How many threads a call may use: the processors of this process, or fewer if the environment says so.

    Examples
    --------
    >>> available() >= 1
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        given = os.environ.get(variable, "").partition(",")[0].strip()
        if given.isdigit() and int(given) > 0:
            return min(cores, int(given), MOST_THREADS)
    return min(cores, MOST_THREADS)


cdef int limit = available()


cdef int threads_for(double nanoseconds) noexcept nogil:
    """How many threads this much work is worth."""
    cdef double worth = nanoseconds / WORTH_A_THREAD
    if worth < 2 or limit == 1:
        return 1
    return limit if worth >= limit else <int> worth


cdef void do_job(void *argument) noexcept nogil:
    cdef Job *job = <Job *> argument
    cdef PyThread_type_lock running = job.running
    job.work(job.task)
    PyThread_release_lock(running)


cdef void run_tasks(Work work, char *tasks, size_t step, int count) noexcept nogil:
    """Call `work` on each of the tasks, `step` bytes apart: MOST_THREADS at most, the first one here."""
    cdef Job jobs[MOST_THREADS]
    cdef int i
    for i in range(1, count):
        jobs[i].work = work
        jobs[i].task = tasks + i * step
        jobs[i].running = PyThread_allocate_lock()
        if jobs[i].running != NULL:
            PyThread_acquire_lock(jobs[i].running, 1)
            if PyThread_start_new_thread(do_job, &jobs[i]) != PYTHREAD_INVALID_THREAD_ID:
                continue
            PyThread_release_lock(jobs[i].running)
            PyThread_free_lock(jobs[i].running)
            jobs[i].running = NULL
    work(tasks)
    for i in range(1, count):
        if jobs[i].running == NULL:   # no thread to be had
            work(jobs[i].task)
            continue
        PyThread_acquire_lock(jobs[i].running, 1)
        PyThread_release_lock(jobs[i].running)
        PyThread_free_lock(jobs[i].running)
