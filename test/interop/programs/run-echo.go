// Verbs from Go by cgo: pairs of goroutines exchange messages and sleep in system calls until they complete, while others make
// garbage, which has the runtime interrupt threads by SIGURG.
package main

// #cgo LDFLAGS: -libverbs
// #include <infiniband/verbs.h>
// #include <stdint.h>
// #include <stdlib.h>
// static int post_recv(struct ibv_qp *qp, struct ibv_mr *mr) {
//   struct ibv_sge sge = {(uintptr_t)mr->addr, mr->length, mr->lkey};
//   struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1}, *bad;
//   return ibv_post_recv(qp, &wr, &bad);
// }
// static int post_send(struct ibv_qp *qp, struct ibv_mr *mr) {
//   struct ibv_sge sge = {(uintptr_t)mr->addr, mr->length, mr->lkey};
//   struct ibv_send_wr wr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
//   return ibv_post_send(qp, &wr, &bad);
// }
// static int query_port(struct ibv_context *context, struct ibv_port_attr *attr) { return ibv_query_port(context, 1, attr); }
// static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length) { return ibv_reg_mr(pd, addr, length, IBV_ACCESS_LOCAL_WRITE); }
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	pairs    = 4
	messages = 100
	length   = 1000
	// What wr_id names.
	receive = 1
	send    = 2
)

var ended atomic.Bool

func well(result C.int, err error, verb string) {
	if result != 0 {
		fmt.Fprintln(os.Stderr, verb, result, err)
		os.Exit(1)
	}
}

func there[T any](pointer *T, err error, verb string) *T {
	if pointer == nil {
		fmt.Fprintln(os.Stderr, verb, err)
		os.Exit(1)
	}
	return pointer
}

// A queue pair, its memory and what tells of its completions.
type end struct {
	channel *C.struct_ibv_comp_channel
	cq      *C.struct_ibv_cq
	qp      *C.struct_ibv_qp
	mr      *C.struct_ibv_mr
	bytes   []byte
}

func newEnd(context *C.struct_ibv_context, pd *C.struct_ibv_pd) *end {
	e := &end{}
	memory := C.malloc(length)
	e.bytes = unsafe.Slice((*byte)(memory), length)
	mr, err := C.reg_mr(pd, memory, length)
	e.mr = there(mr, err, "ibv_reg_mr")
	channel, err := C.ibv_create_comp_channel(context)
	e.channel = there(channel, err, "ibv_create_comp_channel")
	cq, err := C.ibv_create_cq(context, 8, nil, channel, 0)
	e.cq = there(cq, err, "ibv_create_cq")
	init := C.struct_ibv_qp_init_attr{send_cq: cq, recv_cq: cq, qp_type: C.IBV_QPT_RC, sq_sig_all: 1}
	init.cap = C.struct_ibv_qp_cap{max_send_wr: 2, max_recv_wr: 2, max_send_sge: 1, max_recv_sge: 1}
	qp, err := C.ibv_create_qp(pd, &init)
	e.qp = there(qp, err, "ibv_create_qp")
	return e
}

func (e *end) connect(context *C.struct_ibv_context, peer *end) {
	var port C.struct_ibv_port_attr
	result, err := C.query_port(context, &port)
	well(result, err, "ibv_query_port")
	attr := C.struct_ibv_qp_attr{path_mtu: C.IBV_MTU_1024, dest_qp_num: peer.qp.qp_num, port_num: 1, timeout: 14, retry_cnt: 7, rnr_retry: 7, min_rnr_timer: 1}
	attr.ah_attr = C.struct_ibv_ah_attr{dlid: port.lid, is_global: 1, port_num: 1}
	attr.ah_attr.grh.hop_limit = 1
	result, err = C.ibv_query_gid(context, 1, 0, &attr.ah_attr.grh.dgid)
	well(result, err, "ibv_query_gid")
	masks := map[uint32]C.int{
		C.IBV_QPS_INIT: C.IBV_QP_STATE | C.IBV_QP_PKEY_INDEX | C.IBV_QP_PORT | C.IBV_QP_ACCESS_FLAGS,
		C.IBV_QPS_RTR:  C.IBV_QP_STATE | C.IBV_QP_AV | C.IBV_QP_PATH_MTU | C.IBV_QP_DEST_QPN | C.IBV_QP_RQ_PSN | C.IBV_QP_MAX_DEST_RD_ATOMIC | C.IBV_QP_MIN_RNR_TIMER,
		C.IBV_QPS_RTS:  C.IBV_QP_STATE | C.IBV_QP_TIMEOUT | C.IBV_QP_RETRY_CNT | C.IBV_QP_RNR_RETRY | C.IBV_QP_SQ_PSN | C.IBV_QP_MAX_QP_RD_ATOMIC,
	}
	for _, state := range []uint32{C.IBV_QPS_INIT, C.IBV_QPS_RTR, C.IBV_QPS_RTS} {
		attr.qp_state = state
		result, err := C.ibv_modify_qp(e.qp, &attr, masks[state])
		well(result, err, "ibv_modify_qp")
	}
}

func (e *end) receive() {
	result, err := C.post_recv(e.qp, e.mr)
	well(result, err, "ibv_post_recv")
}

func (e *end) send() {
	result, err := C.post_send(e.qp, e.mr)
	well(result, err, "ibv_post_send")
}

// Sleeps until there are completions of these requests.
func (e *end) completed(requests ...int) {
	left := map[int]bool{}
	for _, request := range requests {
		left[request] = true
	}
	for armed := false; len(left) > 0; {
		var wc C.struct_ibv_wc
		if C.ibv_poll_cq(e.cq, 1, &wc) == 1 {
			well(C.int(wc.status), nil, "a request ended with status")
			delete(left, int(wc.wr_id))
		} else if !armed {
			result, err := C.ibv_req_notify_cq(e.cq, 0)
			well(result, err, "ibv_req_notify_cq")
			armed = true
		} else {
			var cq *C.struct_ibv_cq
			var owner unsafe.Pointer
			result, err := C.ibv_get_cq_event(e.channel, &cq, &owner)
			well(result, err, "ibv_get_cq_event")
			C.ibv_ack_cq_events(cq, 1)
			armed = false
		}
	}
}

func (e *end) destroy() {
	well(C.ibv_destroy_qp(e.qp), nil, "ibv_destroy_qp")
	well(C.ibv_destroy_cq(e.cq), nil, "ibv_destroy_cq")
	well(C.ibv_destroy_comp_channel(e.channel), nil, "ibv_destroy_comp_channel")
	well(C.ibv_dereg_mr(e.mr), nil, "ibv_dereg_mr")
}

func echo(context *C.struct_ibv_context, pd *C.struct_ibv_pd) {
	client, server := newEnd(context, pd), newEnd(context, pd)
	client.connect(context, server)
	server.connect(context, client)
	server.receive()
	var echoing sync.WaitGroup
	echoing.Add(1)
	go func() {
		defer echoing.Done()
		for message := 0; message < messages; message++ {
			if message == 0 {
				server.completed(receive)
			} else {
				// The reply before this message has completed with it at the latest.
				server.completed(receive, send)
			}
			for i := range server.bytes {
				server.bytes[i] ^= 0xff
			}
			server.receive()
			server.send()
		}
		server.completed(send)
	}()
	for message := 0; message < messages; message++ {
		for i := range client.bytes {
			client.bytes[i] = byte(message)
		}
		client.receive()
		client.send()
		client.completed(receive, send)
		for _, b := range client.bytes {
			if b != ^byte(message) {
				fmt.Fprintln(os.Stderr, "message", message, "came back as", b)
				os.Exit(1)
			}
		}
	}
	echoing.Wait()
	client.destroy()
	server.destroy()
}

func main() {
	go func() {
		for !ended.Load() {
			_ = make([]byte, 1<<20)
			runtime.GC()
		}
	}()
	list, err := C.ibv_get_device_list(nil)
	devices := there(list, err, "ibv_get_device_list")
	opened, err := C.ibv_open_device(*devices)
	context := there(opened, err, "ibv_open_device")
	allocated, err := C.ibv_alloc_pd(context)
	pd := there(allocated, err, "ibv_alloc_pd")
	var all sync.WaitGroup
	for i := 0; i < pairs; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			echo(context, pd)
		}()
	}
	all.Wait()
	ended.Store(true)
	well(C.ibv_dealloc_pd(pd), nil, "ibv_dealloc_pd")
	well(C.ibv_close_device(context), nil, "ibv_close_device")
	fmt.Println(pairs*messages, "messages came back changed")
}
