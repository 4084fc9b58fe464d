// SPDX-License-Identifier: MIT

package main

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// The rows of rows_trees.c and rows_condition.c, and rwlock, in Go's own terms. A pipeline and a
// sieve use Go's channels; producers, turns and the crowd a mutex and condition variables.

const (
	boardSize    = 10
	rootChildren = 2000
	nodeChildren = 8
	hasChildren  = 0.1225
	stages       = 10
	hops         = stages + 1
	narrow       = 16
	slots        = 32
	numbers      = 1223
	sieveHops    = 22300
	crowd        = 10000
	accessors    = 64
)

func init() {
	for name, r := range map[string]row{
		"nqueens":      {1, func(n int) time.Duration { return trees(n, boardTree) }},
		"uts":          {1, func(n int) time.Duration { return trees(n, nodeTree) }},
		"pipeline":     {hops, pipeline},
		"sieve":        {1, func(n int) time.Duration { return trees(n, sieve) }},
		"producers_4":  {4, func(n int) time.Duration { return producers(n, 4) }},
		"producers_64": {64, func(n int) time.Duration { return producers(n, 64) }},
		"turns":        {1, turns},
		"crowd":        {crowd, crowdRun},
		"rwlock":       {accessors, rwlock},
	} {
		rows[name] = r
	}
}

func check(ok bool, what string) {
	if !ok {
		panic(what + " failed")
	}
}

// trees repeats something with many operations until there were count of them.
func trees(count int, tree func() int) time.Duration {
	begin, done := time.Now(), 0
	for done < count {
		done += tree()
	}
	return time.Duration(float64(time.Since(begin)) * float64(count) / float64(done))
}

// startAll runs fn(0) to fn(count-1) as threads and joins them.
func startAll(count int, fn func(i int)) {
	var ended sync.WaitGroup
	ended.Add(count)
	for i := 0; i < count; i++ {
		i := i
		go func() {
			fn(i)
			ended.Done()
		}()
	}
	ended.Wait()
}

func board(columns, left, right uint, missing int) (solutions, nodes int) {
	if missing == 0 {
		return 1, 1
	}
	open := (1<<boardSize - 1) &^ (columns | left | right)
	var squares [boardSize]uint
	count := bits.OnesCount(open)
	for i := 0; i < count; i++ {
		squares[i] = open & -open
		open &= open - 1
	}
	var found, used [boardSize]int
	startAll(count, func(i int) {
		s := squares[i]
		found[i], used[i] = board(columns|s, (left|s)<<1, (right|s)>>1, missing-1)
	})
	nodes = 1
	for i := 0; i < count; i++ {
		solutions += found[i]
		nodes += used[i]
	}
	return solutions, nodes
}

func boardTree() int {
	solutions, nodes := board(0, 0, 0, boardSize)
	check(solutions == 724, "counting the solutions of n queens")
	return nodes
}

func mixed(state uint64) uint64 {
	state += 0x9e3779b97f4a7c15
	state = (state ^ state>>30) * 0xbf58476d1ce4e5b9
	state = (state ^ state>>27) * 0x94d049bb133111eb
	return state ^ state>>31
}

func childOf(state uint64, index int) uint64 { return mixed(state + uint64(index) + 1) }

func node(state uint64) int {
	if float64(mixed(state)>>11) >= hasChildren*(1<<53) {
		return 1
	}
	return 1 + nodesBelow(state, nodeChildren)
}

func nodesBelow(state uint64, children int) (nodes int) {
	counts := make([]int, children)
	startAll(children, func(i int) { counts[i] = node(childOf(state, i)) })
	for _, n := range counts {
		nodes += n
	}
	return nodes
}

func nodeTree() int {
	nodes := nodesBelow(76, rootChildren)
	check(nodes == 121200, "counting the nodes of the unbalanced tree")
	return nodes
}

func pipeline(count int) time.Duration {
	var channels [hops]chan int
	for i := range channels {
		channels[i] = make(chan int, narrow)
	}
	items := count / hops
	begin := time.Now()
	startAll(stages+2, func(i int) {
		for item := 0; item < items; item++ {
			switch i {
			case 0:
				channels[0] <- item
			case hops:
				check(<-channels[stages] == item+stages, "order of the pipeline")
			default:
				channels[i] <- <-channels[i-1] + 1
			}
		}
	})
	return time.Since(begin)
}

func filter(in chan int, all *atomic.Int64, ended func()) {
	defer ended()
	prime := <-in
	count, number := int64(1), prime
	var next chan int
	var after sync.WaitGroup
	for number != 0 {
		number = <-in
		count++
		if number != 0 && number%prime == 0 {
			continue
		}
		if next == nil {
			next = make(chan int, narrow)
			after.Add(1)
			go filter(next, all, after.Done)
		}
		next <- number
	}
	after.Wait()
	all.Add(count)
}

func sieve() int {
	var all atomic.Int64
	var ended sync.WaitGroup
	first := make(chan int, narrow)
	ended.Add(1)
	go filter(first, &all, ended.Done)
	for i := 2; i <= numbers; i++ {
		first <- i
	}
	first <- 0
	ended.Wait()
	check(all.Load() == sieveHops, "sieving primes")
	return sieveHops
}

type shop struct {
	lock              sync.Mutex
	nonempty, nonfull *sync.Cond
	goods             [slots]int
	first, count      int
}

func (s *shop) put(value int) {
	s.lock.Lock()
	for s.count == slots {
		s.nonfull.Wait()
	}
	s.goods[(s.first+s.count)%slots] = value
	s.count++
	s.nonempty.Signal()
	s.lock.Unlock()
}

func (s *shop) get() int {
	s.lock.Lock()
	for s.count == 0 {
		s.nonempty.Wait()
	}
	value := s.goods[s.first]
	s.first = (s.first + 1) % slots
	s.count--
	s.nonfull.Signal()
	s.lock.Unlock()
	return value
}

func producers(count, pairs int) time.Duration {
	s := &shop{}
	s.nonempty, s.nonfull = sync.NewCond(&s.lock), sync.NewCond(&s.lock)
	each := count / pairs
	var total atomic.Int64
	begin := time.Now()
	startAll(2*pairs, func(i int) {
		sum := 0
		for k := 1; k <= each; k++ {
			if i%2 == 0 {
				s.put(k)
			} else {
				sum += s.get()
			}
		}
		total.Add(int64(sum))
	})
	taken := time.Since(begin)
	check(total.Load() == int64(pairs*(each*(each+1)/2)), "handing over all goods")
	return taken
}

func turns(count int) time.Duration {
	var lock sync.Mutex
	changed := [2]*sync.Cond{sync.NewCond(&lock), sync.NewCond(&lock)}
	turn := 0
	begin := time.Now()
	startAll(2, func(self int) {
		for i := 0; i < count; i++ {
			lock.Lock()
			for turn != self {
				changed[self].Wait()
			}
			turn = 1 - self
			changed[turn].Signal()
			lock.Unlock()
		}
	})
	return time.Since(begin)
}

func crowdOnce() {
	var lock sync.Mutex
	opened, complete := sync.NewCond(&lock), sync.NewCond(&lock)
	waiting, open := 0, false
	go func() {
		lock.Lock()
		for waiting < crowd {
			complete.Wait()
		}
		open = true
		opened.Broadcast()
		lock.Unlock()
	}()
	startAll(crowd, func(int) {
		lock.Lock()
		waiting++
		if waiting == crowd {
			complete.Signal()
		}
		for !open {
			opened.Wait()
		}
		lock.Unlock()
	})
}

func crowdRun(count int) time.Duration {
	begin := time.Now()
	for done := 0; done < count; done += crowd {
		crowdOnce()
	}
	return time.Since(begin)
}

func rwlock(count int) time.Duration {
	var lock sync.RWMutex
	var words [4]int
	var writes atomic.Int64
	begin := time.Now()
	startAll(accessors, func(self int) {
		random, own := mixed(uint64(self)), 0
		for i := 0; i < count/accessors; i++ {
			random ^= random << 13
			random ^= random >> 7
			random ^= random << 17
			inside := func() {}
			if random>>40%32 == 0 {
				inside = runtime.Gosched
			}
			if random>>20%10 == 0 {
				lock.Lock()
				for k := range words {
					words[k]++
					if k == 0 {
						inside()
					}
				}
				lock.Unlock()
				own++
				continue
			}
			lock.RLock()
			first := words[0]
			inside()
			for _, word := range words {
				check(word == first, "keeping writers away from readers")
			}
			lock.RUnlock()
		}
		writes.Add(int64(own))
	})
	taken := time.Since(begin)
	check(int64(words[0]) == writes.Load(), "counting the writes")
	return taken
}
