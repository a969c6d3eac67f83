// A bare client of a Platform API, the floor of the bench `calls`: the same calls at the same even rates, each when it is due.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	url, key = os.Args[1], os.Args[2]
	client   = &http.Client{
		Transport: &http.Transport{MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096},
		Timeout:   60 * time.Second,
	}
)

// What was measured of one kind of calls, from the moment at which there was a connection until the whole answer.
type figures struct {
	sync.Mutex
	times  []float64
	failed int
}

// send gives the answer, and the milliseconds that it took.
func send(method, path, body string) ([]byte, float64, error) {
	request, err := http.NewRequest(method, url+path, strings.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("X-API-Key", key)
	request.Header.Set("Service-Version", "2026-08-17.everglades")
	request.Header.Set("Content-Type", "application/json")
	begun := time.Now()
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { begun = time.Now() }}
	answer, err := client.Do(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	took := float64(time.Since(begun).Nanoseconds()) / 1e6
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", answer.StatusCode)
	}
	return text, took, err
}

func (f *figures) call(method, path, body string, counts func(answer []byte) bool) {
	text, took, err := send(method, path, body)
	f.Lock()
	defer f.Unlock()
	if err != nil {
		f.failed++
	} else if counts(text) {
		f.times = append(f.times, took)
	}
}

func (f *figures) summary() map[string]any {
	slices.Sort(f.times)
	at := func(percent int) float64 {
		if len(f.times) == 0 {
			return 0
		}
		return f.times[min(len(f.times)-1, len(f.times)*percent/100)]
	}
	return map[string]any{"count": len(f.times), "failed": f.failed, "p50": at(50), "p90": at(90), "p99": at(99)}
}

// devices lists the ids of as many.
func devices(most int) (ids []string) {
	for more := true; more && len(ids) < most; {
		var page struct {
			HasMore bool `json:"has_more"`
			Data    []struct {
				ID string `json:"id"`
			} `json:"data"`
		}
		text, _, err := send("GET", fmt.Sprintf("/devices?limit=100&offset=%d", len(ids)), "")
		if err == nil {
			err = json.Unmarshal(text, &page)
		}
		if err != nil {
			panic(err)
		}
		for _, device := range page.Data {
			ids = append(ids, device.ID)
		}
		more = page.HasMore && len(page.Data) > 0
	}
	return ids
}

func number(at int) int {
	value, err := strconv.Atoi(os.Args[at])
	if err != nil {
		panic(err)
	}
	return value
}

// calls URL KEY DEVICES SECONDS LISTS READS EXPANDS PINGS: the last four are rates per second.
func main() {
	ids := devices(number(3))
	var reads, pings figures
	always := func([]byte) bool { return true }
	answered := func(text []byte) bool {
		var pong struct{ Code string }
		return json.Unmarshal(text, &pong) == nil && pong.Code == "success"
	}
	page := func(limit int, more string) string {
		return fmt.Sprintf("/devices?limit=%d&offset=%d%s", limit, rand.IntN(len(ids)), more)
	}
	kinds := []func(){
		func() { reads.call("GET", page(100, ""), "", always) },
		func() { reads.call("GET", page(1, ""), "", always) },
		func() { reads.call("GET", page(100, "&expand=current_deployment"), "", always) },
		func() {
			path := "/devices/" + ids[rand.IntN(len(ids))] + "/ping"
			pings.call("POST", path, `{"timeout_nanos":5000000000}`, answered)
		},
	}
	var all sync.WaitGroup
	begun := time.Now()
	for kind, call := range kinds {
		rate := number(5 + kind)
		all.Add(1)
		go func() {
			defer all.Done()
			for n := range rate * number(4) {
				time.Sleep(time.Until(begun.Add(time.Duration(n) * time.Second / time.Duration(rate))))
				all.Add(1)
				go func() {
					defer all.Done()
					call()
				}()
			}
		}()
	}
	all.Wait()
	json.NewEncoder(os.Stdout).Encode(map[string]any{"http": reads.summary(), "ping": pings.summary()})
}
