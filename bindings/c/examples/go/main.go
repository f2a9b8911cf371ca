package main

import (
	"fmt"
	"os"
	"strconv"
)

// search STORE HEX...
func main() {
	found, err := search(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "search:", err)
		os.Exit(2)
	}
	if !found {
		os.Exit(1)
	}
}

func search(path string, texts []string) (found bool, err error) {
	needles := make([]uint64, len(texts))
	for i, text := range texts {
		if needles[i], err = strconv.ParseUint(text, 16, 64); err != nil {
			return false, err
		}
	}
	store, err := Open(path)
	if err != nil {
		return false, err
	}
	defer store.Close()
	searcher, err := store.Searcher()
	if err != nil {
		return false, err
	}
	defer searcher.Close()
	answer, err := searcher.SearchMany(needles, 3, 10)
	for i, hits := range answer {
		for _, hit := range hits {
			for _, id := range hit.IDs {
				fmt.Printf("%016x\t%016x\t%d\t%s\n", needles[i], hit.Fingerprint, hit.Distance, id)
				found = true
			}
		}
	}
	return found, err
}
