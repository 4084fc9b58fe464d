/* SPDX-License-Identifier: MIT */
/*
 * atomic_sim.h - the simulator's twin of the operations in core/atomic.h.
 *
 * Each is one call into the memory model (sim_mem.c): a scheduling point, and in weak mode a choice
 * among the values that the location may show. Values travel as uint64_t.
 */
#ifndef PIRN_ATOMIC_SIM_H
#define PIRN_ATOMIC_SIM_H

#include <stddef.h>
#include <stdint.h>

enum sim_order { SIM_RLX = 0, SIM_ACQ = 1, SIM_REL = 2, SIM_ACQ_REL = 3 };
enum sim_rmw { SIM_XCHG, SIM_ADD, SIM_SUB, SIM_OR, SIM_AND };
enum sim_fence { SIM_FENCE_SEQ, SIM_FENCE_LIGHT, SIM_FENCE_HEAVY, SIM_FENCE_RMW };

uint64_t sim_load(const volatile void *p, size_t size, enum sim_order order);
void sim_store(volatile void *p, size_t size, uint64_t value, enum sim_order order);
uint64_t sim_rmw(volatile void *p, size_t size, enum sim_rmw op, uint64_t value,
                 enum sim_order order);
int sim_cas(volatile void *p, size_t size, uint64_t *want, uint64_t value, enum sim_order order);
void sim_fence(enum sim_fence kind);
void sim_init(volatile void *p, size_t size, uint64_t value);

#define SIM_TYPE(p) __typeof__((void)0, *(p))
#define SIM_U64(v) ((uint64_t)(v))

#define at_init(p, v) sim_init((p), sizeof(*(p)), SIM_U64(v))
#define at_load_rlx(p) ((SIM_TYPE(p))sim_load((p), sizeof(*(p)), SIM_RLX))
#define at_load_acq(p) ((SIM_TYPE(p))sim_load((p), sizeof(*(p)), SIM_ACQ))
#define at_store_rlx(p, v) sim_store((p), sizeof(*(p)), SIM_U64(v), SIM_RLX)
#define at_store_rel(p, v) sim_store((p), sizeof(*(p)), SIM_U64(v), SIM_REL)

#define SIM_RMW(p, op, v, order)                                                                   \
    __extension__({                                                                                \
        SIM_TYPE(p) sim_old_ = (SIM_TYPE(p))sim_rmw((p), sizeof(*(p)), (op), SIM_U64(v), (order)); \
        sim_old_;                                                                                  \
    })
#define at_xchg_rlx(p, v) SIM_RMW(p, SIM_XCHG, v, SIM_RLX)
#define at_xchg_acq(p, v) SIM_RMW(p, SIM_XCHG, v, SIM_ACQ)
#define at_xchg_rel(p, v) SIM_RMW(p, SIM_XCHG, v, SIM_REL)
#define at_xchg_acq_rel(p, v) SIM_RMW(p, SIM_XCHG, v, SIM_ACQ_REL)
#define at_add_rlx(p, v) SIM_RMW(p, SIM_ADD, v, SIM_RLX)
#define at_add_acq_rel(p, v) SIM_RMW(p, SIM_ADD, v, SIM_ACQ_REL)
#define at_sub_acq_rel(p, v) SIM_RMW(p, SIM_SUB, v, SIM_ACQ_REL)
#define at_or_acq(p, v) SIM_RMW(p, SIM_OR, v, SIM_ACQ)
#define at_or_acq_rel(p, v) SIM_RMW(p, SIM_OR, v, SIM_ACQ_REL)
#define at_and_acq_rel(p, v) SIM_RMW(p, SIM_AND, v, SIM_ACQ_REL)

#define SIM_CAS(p, want, v, order)                                                                 \
    __extension__({                                                                                \
        uint64_t sim_want_ = SIM_U64(*(want));                                                     \
        int sim_done_ = sim_cas((p), sizeof(*(p)), &sim_want_, SIM_U64(v), (order));               \
        *(want) = (__typeof__(*(want)))sim_want_;                                                  \
        sim_done_;                                                                                 \
    })
#define at_cas_rlx(p, want, v) SIM_CAS(p, want, v, SIM_RLX)
#define at_cas_acq(p, want, v) SIM_CAS(p, want, v, SIM_ACQ)
#define at_cas_rel(p, want, v) SIM_CAS(p, want, v, SIM_REL)
#define at_cas_acq_rel(p, want, v) SIM_CAS(p, want, v, SIM_ACQ_REL)

#define at_fence_seq() sim_fence(SIM_FENCE_SEQ)
#define at_fence_after_rmw() sim_fence(SIM_FENCE_RMW)
#define at_fence_light() sim_fence(SIM_FENCE_LIGHT)
#define at_fence_heavy() sim_fence(SIM_FENCE_HEAVY)

#endif
