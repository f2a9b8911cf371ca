// Package main searches a store from Go: CGO_CFLAGS and CGO_LDFLAGS come from pkg-config.
package main

/*
#cgo pkg-config: fpstore
#include <stdlib.h>
#include <fpstore.h>
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// Store is an open store. It may be used by any number of goroutines.
type Store struct{ handle *C.fps_store }

// Searcher is used by one goroutine at a time; take it from a sync.Pool.
type Searcher struct{ handle *C.fps_searcher }

// Hit is a stored fingerprint within the distance of a query.
type Hit struct {
	Fingerprint uint64
	Distance    int
	IDs         []string
}

func check(status C.fps_status, message *[512]C.char) error {
	if status == C.FPS_OK {
		return nil
	}
	return errors.New(C.GoString(&message[0]))
}

// Open reads the store into memory: the Go runtime cannot recover from SIGBUS, which a map raises when
// another program shortens a file.
func Open(path string) (*Store, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var message [512]C.char
	store := &Store{}
	options := C.fps_open_options{size: C.sizeof_fps_open_options, access: C.FPS_ACCESS_MEMORY}
	err := check(C.fps_open(name, &options, &store.handle, &message[0], 512), &message)
	return store, err
}

// Close frees the store. Searchers go on with the state that they have.
func (store *Store) Close() { C.fps_close(store.handle); store.handle = nil }

// Searcher makes a searcher, which follows every refresh of the store.
func (store *Store) Searcher() (*Searcher, error) {
	var message [512]C.char
	searcher := &Searcher{}
	err := check(C.fps_searcher_new(store.handle, &searcher.handle, &message[0], 512), &message)
	return searcher, err
}

// Close frees the searcher.
func (searcher *Searcher) Close() { C.fps_searcher_free(searcher.handle); searcher.handle = nil }

// SearchMany returns the hits of each needle within k bits, with up to maxIDs ids for each hit.
func (searcher *Searcher) SearchMany(needles []uint64, k, maxIDs int) ([][]Hit, error) {
	if len(needles) == 0 {
		return nil, nil
	}
	var message [512]C.char
	var batch C.fps_batch
	query := C.fps_query{k: C.uint32_t(k), max_ids: C.uint32_t(maxIDs)}
	first := (*C.uint64_t)(unsafe.Pointer(&needles[0]))
	status := C.fps_search_many(searcher.handle, first, C.size_t(len(needles)), &query, &batch,
		&message[0], 512)
	runtime.KeepAlive(needles)
	if err := check(status, &message); err != nil {
		return nil, err
	}
	ends := unsafe.Slice((*uint64)(unsafe.Pointer(batch.hit_ends)), int(batch.query_count))
	hits := unsafe.Slice((*C.fps_hit)(unsafe.Pointer(batch.hits)), int(batch.hit_count))
	ids := unsafe.Slice((*C.fps_id)(unsafe.Pointer(batch.ids)), int(batch.id_count))
	answers := make([][]Hit, len(needles))
	at := 0
	for i, end := range ends {
		for ; at < int(end); at++ {
			hit := hits[at]
			made := Hit{Fingerprint: uint64(hit.fingerprint), Distance: int(hit.distance)}
			for _, id := range ids[hit.first_id : uint64(hit.first_id)+uint64(hit.id_count)] {
				made.IDs = append(made.IDs, textOf(id))
			}
			answers[i] = append(answers[i], made)
		}
	}
	return answers, nil
}
