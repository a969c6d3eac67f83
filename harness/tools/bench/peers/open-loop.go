// A bare open-loop load generator, the floor of the bench `peers`: a goroutine for each request, answers read and thrown away.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// open-loop URL RATE REQUESTS
func main() {
	rate, _ := strconv.Atoi(os.Args[2])
	requests, _ := strconv.Atoi(os.Args[3])
	transport := &http.Transport{MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096}
	client := &http.Client{Transport: transport, Timeout: 60 * time.Second}
	var all sync.WaitGroup
	var failed atomic.Int64
	began := time.Now()
	for number := 0; number < requests; number++ {
		time.Sleep(time.Until(began.Add(time.Duration(number) * time.Second / time.Duration(rate))))
		all.Add(1)
		go func() {
			defer all.Done()
			answer, err := client.Get(os.Args[1])
			if err != nil {
				failed.Add(1)
				return
			}
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}()
	}
	all.Wait()
	fmt.Println(failed.Load())
}
