// SPDX-License-Identifier: MIT

package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"sort"
	"time"
)

// Command line and output are those of bench/micro/output.h.

const (
	system     = "go"
	statusSkip = 77
	sampleTime = 30 * time.Millisecond
	quickTime  = time.Millisecond
)

type arguments struct {
	row              string
	workers, samples int
	sampleTime       time.Duration
}

func parseArguments() arguments {
	row := flag.String("row", "", "row of the table")
	workers := flag.Int("workers", 1, "value of GOMAXPROCS")
	samples := flag.Int("samples", 1, "number of samples")
	quick := flag.Bool("quick", false, "short samples, to see that all works")
	flag.Parse()
	if *row == "" || *workers < 1 || *samples < 1 || flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}
	args := arguments{*row, *workers, *samples, sampleTime}
	if *quick {
		args.sampleTime = quickTime
	}
	return args
}

func printHeader() {
	fmt.Println("system,row,workers,sample,ns_per_op,bytes")
}

func (args arguments) printSample(row string, sample int, ns float64) {
	fmt.Printf("%s,%s,%d,%d,%.3f,\n", system, row, args.workers, sample, ns)
}

func printMedian(key string, values []float64) {
	sort.Float64s(values)
	n := len(values)
	fmt.Printf("# %s=%.3f\n", key, (values[(n-1)/2]+values[n/2])/2)
}

func (args arguments) skip(why string) {
	fmt.Printf("# skipped: %s %s with %d: %s\n", system, args.row, args.workers, why)
	os.Exit(statusSkip)
}

// calibrate finds the count with which a run takes long enough.
func calibrate(least time.Duration, unit int, run func(int) time.Duration) int {
	count := unit
	for taken := run(count); taken < least; taken = run(count) {
		wanted := math.Max(1.2*float64(least)/(float64(taken)+1), 1.5)
		wanted = math.Min(wanted, 16)
		count = int(float64(count)*wanted) + unit
		count -= count % unit
	}
	return count
}

func (args arguments) measure(unit int, run func(int) time.Duration) {
	count := calibrate(args.sampleTime, unit, run)
	printHeader()
	values := make([]float64, args.samples)
	for i := range values {
		values[i] = float64(run(count).Nanoseconds()) / float64(count)
		args.printSample(args.row, i, values[i])
	}
	printMedian("ns_per_op", values)
}
