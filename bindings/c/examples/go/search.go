package main

// #include <fpstore.h>
import "C"

import (
	"strconv"
	"unsafe"
)

// Hit is a stored fingerprint within the distance of a needle.
type Hit struct {
	Fingerprint uint64
	Distance    int
	IDs         []string
}

// SearchMany returns the hits of each needle within k bits, all from one state of the store.
func (searcher *Searcher) SearchMany(needles []uint64, k, maxIDs int) ([][]Hit, error) {
	if len(needles) == 0 {
		return nil, nil
	}
	first, batch := (*C.uint64_t)(unsafe.Pointer(&needles[0])), &searcher.batch
	searcher.query = C.fps_query{k: C.uint32_t(k), max_ids: C.uint32_t(maxIDs)}
	status := C.fps_search_many(searcher.handle, first, C.size_t(len(needles)), &searcher.query, batch,
		&searcher.message[0], 512)
	if err := check(status, &searcher.message); err != nil {
		return nil, err
	}
	ids := unsafe.Slice(batch.ids, batch.id_count)
	hits := make([]Hit, batch.hit_count)
	for i, hit := range unsafe.Slice(batch.hits, batch.hit_count) {
		hits[i] = Hit{Fingerprint: uint64(hit.fingerprint), Distance: int(hit.distance)}
		for _, id := range ids[hit.first_id:][:hit.id_count] {
			text := strconv.FormatUint(uint64(id.number), 10)
			if id.text != nil {
				text = C.GoStringN(id.text, C.int(id.len))
			}
			hits[i].IDs = append(hits[i].IDs, text)
		}
	}
	found := make([][]Hit, len(needles))
	start := C.uint64_t(0)
	for i, end := range unsafe.Slice(batch.hit_ends, batch.query_count) {
		found[i] = hits[start:end]
		start = end
	}
	return found, nil
}
