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

func search(path string, texts []string) (bool, error) {
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
	needles := make([]uint64, len(texts))
	for i, text := range texts {
		if needles[i], err = strconv.ParseUint(text, 16, 64); err != nil {
			return false, err
		}
	}
	batch, err := searcher.SearchMany(needles, 3, 10)
	if err != nil {
		return false, err
	}
	found := false
	for i, needle := range needles {
		for _, hit := range batch.Hits(i) {
			for _, id := range hit.IDs {
				fmt.Printf("%016x\t%016x\t%d\t%s\n", needle, hit.Fingerprint, hit.Distance, id)
				found = true
			}
		}
	}
	return found, nil
}
