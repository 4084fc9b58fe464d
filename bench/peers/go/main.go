// SPDX-License-Identifier: MIT

// micro-go: the micro benchmarks' rows in Go, with the standard library only.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"sync/atomic"
	"time"
)

const (
	memoryThreads = 10000
	wakeups       = 20000
)

func residentBytes() int {
	var total, resident int
	text, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		_, err = fmt.Sscan(string(text), &total, &resident)
	}
	if err != nil {
		panic(err)
	}
	return resident * os.Getpagesize()
}

func (args arguments) memory() {
	var waiting atomic.Int64
	threads := make([]thread, memoryThreads)
	gate := make(semaphore, memoryThreads)
	start(nothing).join()
	before := residentBytes()
	for i := range threads {
		threads[i] = start(func() {
			waiting.Add(1)
			gate.wait()
		})
	}
	for waiting.Load() < memoryThreads {
		runtime.Gosched()
	}
	each := float64(residentBytes()-before) / memoryThreads
	for range threads {
		gate.post()
	}
	for _, t := range threads {
		t.join()
	}
	printHeader()
	fmt.Printf("%s,%s,%d,0,,%.3f\n", system, args.row, args.workers, each)
	printMedian("bytes", []float64{each})
}

// wakeupRun returns the sorted times from a post to the first instruction of the woken goroutine.
func wakeupRun() []time.Duration {
	there, back := make(semaphore, 1), make(semaphore, 1)
	latency := make([]time.Duration, wakeups)
	var posted time.Time
	sleeper := start(func() {
		for i := range latency {
			there.wait()
			latency[i] = time.Since(posted)
			back.post()
		}
	})
	start(func() {
		for range latency {
			posted = time.Now()
			there.post()
			back.wait()
		}
	}).join()
	sleeper.join()
	sort.Slice(latency, func(i, j int) bool { return latency[i] < latency[j] })
	return latency
}

func (args arguments) wakeup() {
	places := []int{wakeups / 2, wakeups / 100 * 99, wakeups / 1000 * 999}
	keys := []string{"p50", "p99", "p999"}
	values := make([][]float64, len(keys))
	printHeader()
	for i := 0; i < args.samples; i++ {
		latency := wakeupRun()
		for k, place := range places {
			values[k] = append(values[k], float64(latency[place].Nanoseconds()))
			args.printSample("wakeup_"+keys[k], i, values[k][i])
		}
	}
	for k, key := range keys {
		printMedian(key, values[k])
	}
}

func main() {
	args := parseArguments()
	runtime.GOMAXPROCS(args.workers)
	known, found := rows[args.row]
	switch {
	case found:
		args.measure(known.unit, known.run)
	case args.row == "memory":
		args.memory()
	case args.row == "wakeup":
		args.wakeup()
	case args.row == "malloc":
		args.skip("Go has a garbage collector in place of malloc")
	case args.row == "pinned_awake" || args.row == "pinned_asleep":
		args.skip("goroutines cannot be bound to CPUs")
	default:
		args.skip("no such row")
	}
}
