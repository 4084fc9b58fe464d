// SPDX-License-Identifier: MIT

package main

import (
	"runtime"
	"sync"
	"time"
)

// The rows of bench/micro/rows.c, in Go's own terms: a goroutine for a thread, a closed channel
// for a join, a buffered channel for a semaphore, runtime.Gosched for a yield. Go has no barrier;
// ours is a mutex and a condition variable.

const (
	batch       = 1024
	fibN        = 20
	creators    = 160
	children    = 128
	contenders  = 64
	holders     = 8
	parties     = 64
	semCapacity = 1 << 14
)

type row struct {
	unit int
	run  func(count int) time.Duration
}

var rows = map[string]row{
	"yield":           {2, yield},
	"create_join":     {1, createJoin},
	"batch":           {batch, batchRun},
	"fib":             {1, fibRun},
	"create_bench":    {creators * (children + 1), createBench},
	"mutex":           {1, mutex},
	"mutex_contended": {contenders, func(n int) time.Duration { return locked(n, contenders, func() {}) }},
	"mutex_yield":     {holders, func(n int) time.Duration { return locked(n, holders, runtime.Gosched) }},
	"pingpong":        {1, pingpong},
	"barrier":         {1, barrierRun},
}

// A thread that can be joined.
type thread chan struct{}

func start(fn func()) thread {
	done := make(thread)
	go func() {
		fn()
		close(done)
	}()
	return done
}

func (t thread) join() { <-t }

func nothing() {}

func runThreads(count int, fn func()) time.Duration {
	threads := make([]thread, count)
	begin := time.Now()
	for i := range threads {
		threads[i] = start(fn)
	}
	for _, t := range threads {
		t.join()
	}
	return time.Since(begin)
}

func yield(count int) time.Duration {
	return runThreads(2, func() {
		for i := 0; i < count/2; i++ {
			runtime.Gosched()
		}
	})
}

func createJoin(count int) time.Duration {
	begin := time.Now()
	for i := 0; i < count; i++ {
		start(nothing).join()
	}
	return time.Since(begin)
}

func batchRun(count int) time.Duration {
	begin := time.Now()
	for done := 0; done < count; done += batch {
		runThreads(batch, nothing)
	}
	return time.Since(begin)
}

func fib(n int) (value, spawns int) {
	if n < 2 {
		return n, 0
	}
	var left, leftSpawns int
	t := start(func() { left, leftSpawns = fib(n - 1) })
	right, rightSpawns := fib(n - 2)
	t.join()
	return left + right, leftSpawns + rightSpawns + 1
}

func fibRun(count int) time.Duration {
	begin, spawns := time.Now(), 0
	for spawns < count {
		_, n := fib(fibN)
		spawns += n
	}
	return time.Duration(float64(time.Since(begin)) * float64(count) / float64(spawns))
}

func createBench(count int) time.Duration {
	begin := time.Now()
	for done := 0; done < count; done += creators * (children + 1) {
		runThreads(creators, func() { runThreads(children, nothing) })
	}
	return time.Since(begin)
}

func mutex(count int) time.Duration {
	var lock sync.Mutex
	begin := time.Now()
	for i := 0; i < count; i++ {
		lock.Lock()
		lock.Unlock() //nolint:staticcheck // the empty section is the row
	}
	return time.Since(begin)
}

func locked(count, threads int, inside func()) time.Duration {
	var lock sync.Mutex
	counter := 0
	taken := runThreads(threads, func() {
		for i := 0; i < count/threads; i++ {
			lock.Lock()
			counter++
			inside()
			lock.Unlock()
		}
	})
	if counter != count/threads*threads {
		panic("mutual exclusion failed")
	}
	return taken
}

type semaphore chan struct{}

func (s semaphore) post() { s <- struct{}{} }
func (s semaphore) wait() { <-s }

func pingpong(count int) time.Duration {
	there, back := make(semaphore, semCapacity), make(semaphore, semCapacity)
	begin := time.Now()
	ping := start(func() {
		for i := 0; i < count; i++ {
			there.post()
			back.wait()
		}
	})
	pong := start(func() {
		for i := 0; i < count; i++ {
			there.wait()
			back.post()
		}
	})
	ping.join()
	pong.join()
	return time.Since(begin)
}

type barrier struct {
	lock               sync.Mutex
	changed            *sync.Cond
	missing, size, gen int
}

func (b *barrier) wait() {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.missing--
	if b.missing == 0 {
		b.missing = b.size
		b.gen++
		b.changed.Broadcast()
		return
	}
	for gen := b.gen; gen == b.gen; {
		b.changed.Wait()
	}
}

func barrierRun(count int) time.Duration {
	b := &barrier{missing: parties, size: parties}
	b.changed = sync.NewCond(&b.lock)
	return runThreads(parties, func() {
		for i := 0; i < count; i++ {
			b.wait()
		}
	})
}
