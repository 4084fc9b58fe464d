// SPDX-License-Identifier: MIT
//
// goroutines.go - a Go program with C in it (cgo), which sets handlers, masks and signal stacks by system
// calls of its own: goroutines that compute, C that calls Go, threads of C that call Go, memory that is
// collected meanwhile, signals, faults that become errors, and goroutines that never stop. Says "done".
package main

/*
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

extern long goNext(long n);

static long calls(long n)
{
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum = goNext(sum);
	return sum;
}

static void *body(void *n)
{
	return (void *)calls((long)(intptr_t)n);
}

static long threads(int count, long n)
{
	pthread_t thread[16];
	long sum = 0;
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread[i], 0, body, (void *)n) != 0)
			abort();
	for (int i = 0; i < count; i++) {
		void *one;
		pthread_join(thread[i], &one);
		sum += (long)one;
	}
	return sum;
}
*/
import "C"

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
)

//export goNext
func goNext(n C.long) C.long { return n + 1 }

var all sync.WaitGroup

// Runs f in so many goroutines; it says whether all went well.
func start(count int, name string, f func() bool) {
	for i := 0; i < count; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			if !f() {
				fmt.Println("FAILED", name)
				os.Exit(1)
			}
		}()
	}
}

func compute() uint64 {
	x := uint64(1)
	for i := 0; i < 5000000; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

type tree struct{ left, right *tree }

func grow(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{grow(depth - 1), grow(depth - 1)}
}

func (t *tree) leaves() int {
	if t.left == nil {
		return 1
	}
	return t.left.leaves() + t.right.leaves()
}

func collects() bool {
	for i := 0; i < 5; i++ {
		if grow(10).leaves() != 1<<10 {
			return false
		}
		runtime.GC()
	}
	return true
}

func fault() (err interface{}) {
	defer func() { err = recover() }()
	var none *tree
	return none.left.leaves()
}

func faults() bool {
	for i := 0; i < 10; i++ {
		if _, is := fault().(error); !is {
			return false
		}
	}
	return true
}

func signals() bool {
	came := make(chan os.Signal, 1)
	signal.Notify(came, syscall.SIGUSR1)
	for i := 0; i < 10; i++ {
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		<-came
	}
	return true
}

func main() {
	want := compute()
	start(4, "compute", func() bool { return compute() == want })
	start(4, "calls", func() bool { return C.calls(2000) == 2000 })
	start(2, "threads", func() bool { return C.threads(4, 500) == 2000 })
	start(2, "collects", collects)
	start(4, "faults", faults)
	start(1, "signals", signals)
	all.Wait()
	for i := 0; i < 4; i++ {
		go func() {
			for {
			}
		}()
	}
	for i := 0; i < 3; i++ {
		runtime.Gosched()
		runtime.GC()
	}
	fmt.Println("done")
}
