# SPDX-License-Identifier: MIT
"""Where the chip of `pirn bench figures hw` differs from the paper's, and why."""

from __future__ import annotations

from pirn_tools.figures.hw import LATENCY, QUEUE, THREADS_A_CORE, UNIT

TEXT = """\
## Where this chip differs from the paper

The units and their rules are the paper's, but for this:

- *Threads that the DTB had no room for.* In the paper the recruiting thread fetches threads from
  memory last in, first out. Here that is so of threads that the RTU had no room for; those of the
  DTB return first in, first out. As a stack, the same threads would return and find the DTB full
  again and again, and the thread that all of them wait for could stay below them for ever.
- *RTU full.* In the paper the trap saves the thread's context. Here it moves the youngest half of
  the queue ({half} threads) to memory, and `spawn` is executed again. Otherwise each further
  `spawn` would trap as long as the queue stays full. So the numbers of traps cannot be compared.
- *Which thread runs where.* In the paper the TSAU asks its sources in turn and takes the idle
  hardware thread of the lowest number (4.1), but also steals at random (4.3). Here it does the
  first. It takes threads of every core's queues, so there is nothing to steal.
- *One thread a cycle.* The TSAU assigns one thread a cycle here, too. But a core that has got one
  gets no other in the next cycle, as its pipeline writes the registers of the new thread in four
  cycles. All banks together execute one conditional access a cycle.
- *A thread that has been woken.* In the paper it is sure to get on; it does not say how. Here the
  line is kept for it. Only `st.full` and `st.empty`, which never wait, can be faster; no thread
  that a parent creates here uses them.
- *The baseline in software.* In the paper a worker that does not get the lock of the LIFO is
  blocked. Here it spins on the test-and-set device, because nothing on the bare chip could block it
  but the hardware scheduler.
- *The end of a thread.* In the paper a thread ends with a terminate instruction. The paper does not
  say how the end of all threads is noticed. Here a thread first adds 1 to a counter of ended
  threads in the second level, and stores its time and its hardware thread. So the last one is
  known, and each run can check that each thread has run once. These are about {unit} instructions,
  as many as a unit has.
- *Processor.* The paper has an OpenSPARC T1 of 64 bits; a context is a program counter and 7
  registers of 8 bytes. Here a core is an RV32IMA with {each} hardware threads, whose RTL is part
  of this repository; a context is as large, a program counter and 15 registers of 4 bytes, all
  that RV32E has.
- *Memory.* The paper has caches in two levels and a memory below them. Here the second level has
  all memory and answers after {latency} cycles, or as many as a run sets. So latency is a
  parameter, and misses of a second cache are not modelled.
- *Arbitration.* The paper has one number for each point. Here it is random which request goes
  first, and several seeds give an interval.

The paper does not say, and here is: in workload B the conditional accesses come before the work, in
D after it; a recruiting thread is called when the RTU has fewer than {threshold} threads; the FILLQ
is first in, first out; the parent's hardware thread takes threads when the parent has ended. Other
instructions than the paper's (`take`, `give`, `wait.full` and more) serve only the scheduler `take`
and Pirn."""


def section() -> str:
    return TEXT.format(
        half=QUEUE // 2,
        threshold=QUEUE // 4,
        unit=UNIT,
        each=THREADS_A_CORE,
        latency=LATENCY,
    )
