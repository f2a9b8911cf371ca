// Searches a store through a server, 1 000 queries or more in a request, from Go without cgo:
//
//	go run batch.go URL HEX...
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

// Hit is a stored fingerprint near a query. The binary route has no ids.
type Hit struct {
	Fingerprint uint64
	Distance    uint8
}

// queryMany returns the hits of each needle within k bits. Requests share the connections of client.
func queryMany(client *http.Client, url string, needles []uint64, k int) ([][]Hit, error) {
	var body bytes.Buffer
	binary.Write(&body, binary.LittleEndian, needles)
	response, err := client.Post(fmt.Sprintf("%s/v1/query?k=%d", url, k), "application/octet-stream", &body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(string(answer))
	}
	found := make([][]Hit, len(needles))
	for i := range needles {
		// The highest bit is set if a limit of the server cut the answer.
		count := binary.LittleEndian.Uint32(answer)
		if count>>31 != 0 {
			return nil, fmt.Errorf("the answer of query %d is cut", i)
		}
		for answer = answer[4:]; count > 0; count-- {
			found[i] = append(found[i], Hit{binary.LittleEndian.Uint64(answer), answer[8]})
			answer = answer[9:]
		}
	}
	return found, nil
}

func main() {
	needles := make([]uint64, 0, len(os.Args))
	for _, text := range os.Args[2:] {
		needle, err := strconv.ParseUint(text, 16, 64)
		if err != nil {
			fmt.Fprintln(os.Stderr, "batch:", err)
			os.Exit(2)
		}
		needles = append(needles, needle)
	}
	found, err := queryMany(http.DefaultClient, os.Args[1], needles, 3)
	if err != nil {
		fmt.Fprintln(os.Stderr, "batch:", err)
		os.Exit(2)
	}
	for i, hits := range found {
		for _, hit := range hits {
			fmt.Printf("%016x\t%016x\t%d\n", needles[i], hit.Fingerprint, hit.Distance)
		}
	}
}
