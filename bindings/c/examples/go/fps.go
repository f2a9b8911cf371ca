// Package main searches a store from Go: CGO_CFLAGS and CGO_LDFLAGS come from pkg-config.
package main

/*
#cgo pkg-config: fpstore
#include <stdlib.h>
#include <fpstore.h>

// Memory for the calls of a searcher, allocated by C: Go need not copy it or check pointers to it.
typedef struct {
	fps_searcher *searcher;
	fps_query query;
	fps_batch batch;
	char message[512];
} calls;
*/
import "C"

import (
	"errors"
	"strconv"
	"unsafe"
)

// Store is an open store. It may be used by any number of goroutines.
type Store struct{ handle *C.fps_store }

// Searcher is used by one goroutine at a time; take it from a sync.Pool.
type Searcher struct{ calls *C.calls }

// Hit is a stored fingerprint within the distance of a query.
type Hit struct {
	Fingerprint uint64
	Distance    int
	IDs         []string
}

func check(status C.fps_status, message *C.char) error {
	if status == C.FPS_OK {
		return nil
	}
	return errors.New(C.GoString(message))
}

// Open reads the store into memory: the Go runtime cannot recover from SIGBUS, which a map raises when
// another program shortens a file.
func Open(path string) (*Store, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var message [512]C.char
	store := &Store{}
	options := C.fps_open_options{size: C.sizeof_fps_open_options, access: C.FPS_ACCESS_MEMORY}
	status := C.fps_open(name, &options, &store.handle, &message[0], 512)
	return store, check(status, &message[0])
}

// Close frees the store. Searchers can still be used and keep their state of the store.
func (store *Store) Close() { C.fps_close(store.handle); store.handle = nil }

// Searcher makes a searcher, which follows every refresh of the store.
func (store *Store) Searcher() (*Searcher, error) {
	calls := (*C.calls)(C.calloc(1, C.sizeof_calls))
	status := C.fps_searcher_new(store.handle, &calls.searcher, &calls.message[0], 512)
	return &Searcher{calls}, check(status, &calls.message[0])
}

// Close frees the searcher.
func (searcher *Searcher) Close() {
	C.fps_searcher_free(searcher.calls.searcher)
	C.free(unsafe.Pointer(searcher.calls))
	searcher.calls = nil
}

// Batch has the hits of many needles, valid until the next call of their searcher.
type Batch struct {
	ends []C.uint64_t
	hits []C.fps_hit
	ids  []C.fps_id
}

// Hits copies the hits of needle i.
func (batch *Batch) Hits(i int) []Hit {
	var start C.uint64_t
	if i > 0 {
		start = batch.ends[i-1]
	}
	var hits []Hit
	for _, hit := range batch.hits[start:batch.ends[i]] {
		copied := Hit{Fingerprint: uint64(hit.fingerprint), Distance: int(hit.distance)}
		for _, id := range batch.ids[hit.first_id : hit.first_id+C.uint64_t(hit.id_count)] {
			text := strconv.FormatUint(uint64(id.number), 10)
			if id.text != nil {
				text = C.GoStringN(id.text, C.int(id.len))
			}
			copied.IDs = append(copied.IDs, text)
		}
		hits = append(hits, copied)
	}
	return hits
}

// SearchMany searches for all needles in one state of the store.
func (searcher *Searcher) SearchMany(needles []uint64, k, maxIDs int) (*Batch, error) {
	if len(needles) == 0 {
		return &Batch{}, nil
	}
	calls := searcher.calls
	calls.query = C.fps_query{k: C.uint32_t(k), max_ids: C.uint32_t(maxIDs)}
	first := (*C.uint64_t)(unsafe.Pointer(&needles[0]))
	status := C.fps_search_many(calls.searcher, first, C.size_t(len(needles)), &calls.query, &calls.batch,
		&calls.message[0], 512)
	if err := check(status, &calls.message[0]); err != nil {
		return nil, err
	}
	batch := &calls.batch
	return &Batch{
		ends: unsafe.Slice(batch.hit_ends, int(batch.query_count)),
		hits: unsafe.Slice(batch.hits, int(batch.hit_count)),
		ids:  unsafe.Slice(batch.ids, int(batch.id_count)),
	}, nil
}
