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
	"unsafe"
)

// Store is an open store, for any number of goroutines.
type Store struct{ handle *C.fps_store }

// Searcher is for one goroutine at a time; take it from a sync.Pool.
type Searcher struct {
	handle  *C.fps_searcher
	query   C.fps_query
	batch   C.fps_batch
	message [512]C.char
}

func check(status C.fps_status, message *[512]C.char) error {
	if status == C.FPS_OK {
		return nil
	}
	return errors.New(C.GoString(&message[0]))
}

// Open reads the store into memory: Go cannot recover from SIGBUS, which a memory map raises when
// another program shortens a file.
func Open(path string) (*Store, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var message [512]C.char
	store := &Store{}
	options := C.fps_open_options{size: C.sizeof_fps_open_options, access: C.FPS_ACCESS_MEMORY}
	status := C.fps_open(name, &options, &store.handle, &message[0], 512)
	return store, check(status, &message)
}

// Close frees the store. Searchers can still be used and keep their state of the store.
func (store *Store) Close() { C.fps_close(store.handle); store.handle = nil }

// Searcher makes a searcher, which follows every refresh of the store.
func (store *Store) Searcher() (*Searcher, error) {
	searcher := &Searcher{}
	status := C.fps_searcher_new(store.handle, &searcher.handle, &searcher.message[0], 512)
	return searcher, check(status, &searcher.message)
}

// Close frees the searcher.
func (searcher *Searcher) Close() { C.fps_searcher_free(searcher.handle); searcher.handle = nil }
