// Go: the same as bench.c, also over HTTP. It is compiled with the functions of examples/go.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"time"
)

func median(times []float64) float64 {
	sort.Float64s(times)
	if len(times) < 1000 {
		return times[0]
	}
	return times[len(times)/2]
}

func measure(count int, act func(i int)) float64 {
	times := make([]float64, count)
	for i := range times {
		start := time.Now()
		act(i)
		times[i] = float64(time.Since(start).Nanoseconds()) / 1e3
	}
	return median(times)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	content := must(os.ReadFile(os.Args[2]))
	queries := make([]uint64, len(content)/8)
	binary.Read(bytes.NewReader(content), binary.LittleEndian, queries)
	sum := 0
	if len(os.Args[1]) > 4 && os.Args[1][:4] == "http" {
		ask := func(of []uint64, accept string) {
			var body bytes.Buffer
			binary.Write(&body, binary.LittleEndian, of)
			path := os.Args[1] + "/v1/query?k=3"
			var answer *http.Response
			if accept != "" {
				answer = must(http.Get(fmt.Sprintf("%s&fingerprint=%016x%s", path, of[0], accept)))
			} else {
				answer = must(http.Post(path, "application/octet-stream", &body))
			}
			sum += len(must(io.ReadAll(answer.Body)))
			answer.Body.Close()
		}
		single := measure(len(queries)/4, func(i int) { ask(queries[i:i+1], "&ids=0") })
		ids := measure(len(queries)/4, func(i int) { ask(queries[i:i+1], "&ids=10") })
		batch := measure(len(queries)/1000, func(i int) { ask(queries[1000*i:1000*i+1000], "") })
		fmt.Printf("%.3f %.3f %.1f\n", single, ids, batch)
		return
	}
	searcher := must(must(Open(os.Args[1])).Searcher())
	for _, ids := range []int{0, 10} {
		fmt.Printf("%.3f ", measure(len(queries), func(i int) {
			sum += len(must(searcher.SearchMany(queries[i:i+1], 3, ids))[0])
		}))
	}
	fmt.Printf("%.1f\n", measure(len(queries)/1000, func(i int) {
		for _, hits := range must(searcher.SearchMany(queries[1000*i:1000*i+1000], 3, 0)) {
			for _, hit := range hits {
				sum += hit.Distance
			}
		}
	}))
	fmt.Fprintln(os.Stderr, sum)
}
