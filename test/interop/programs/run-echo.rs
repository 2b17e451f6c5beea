//! Verbs from Rust without a line of C, as bindings have them: a thread sends messages over a queue pair, sleeps until each comes back
//! changed, and another thread changes them.
use std::ffi::{c_int, c_void};
use std::{mem, ptr, thread};

const MESSAGES: u64 = 500;
const LENGTH: usize = 1000;
/// What `wr_id` names.
const RECEIVE: u64 = 1;
const SEND: u64 = 2;

#[repr(C)]
struct Context {
    device: *mut c_void,
    /// `struct ibv_context_ops`.
    ops: [usize; 32],
}
const POLL_CQ: usize = 11;
const REQ_NOTIFY_CQ: usize = 12;
const POST_SEND: usize = 25;
const POST_RECV: usize = 26;

#[repr(C)]
struct Mr {
    context: *mut c_void,
    pd: *mut c_void,
    addr: *mut c_void,
    length: usize,
    handle: u32,
    lkey: u32,
    rkey: u32,
}

#[repr(C)]
struct Qp {
    context: *mut c_void,
    owner: *mut c_void,
    pd: *mut c_void,
    cqs: [*mut c_void; 2],
    srq: *mut c_void,
    handle: u32,
    number: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct QpCap {
    send_wr: u32,
    recv_wr: u32,
    send_sge: u32,
    recv_sge: u32,
    inline_data: u32,
}

#[repr(C)]
struct QpInitAttr {
    owner: *mut c_void,
    send_cq: *mut c_void,
    recv_cq: *mut c_void,
    srq: *mut c_void,
    cap: QpCap,
    kind: u32,
    sq_sig_all: c_int,
}

#[repr(C)]
struct AhAttr {
    dgid: [u64; 2],
    flow_label: u32,
    sgid_index: u8,
    hop_limit: u8,
    traffic_class: u8,
    dlid: u16,
    sl: u8,
    src_path_bits: u8,
    static_rate: u8,
    is_global: u8,
    port_num: u8,
}

#[repr(C)]
struct QpAttr {
    state: u32,
    cur_state: u32,
    path_mtu: u32,
    path_mig_state: u32,
    qkey: u32,
    rq_psn: u32,
    sq_psn: u32,
    dest_qp_num: u32,
    access_flags: u32,
    cap: QpCap,
    ah: AhAttr,
    alt_ah: AhAttr,
    pkey_index: u16,
    alt_pkey_index: u16,
    en_sqd_async_notify: u8,
    sq_draining: u8,
    max_rd_atomic: u8,
    max_dest_rd_atomic: u8,
    min_rnr_timer: u8,
    port_num: u8,
    timeout: u8,
    retry_cnt: u8,
    rnr_retry: u8,
    alt_port_num: u8,
    alt_timeout: u8,
    rate_limit: u32,
}

#[repr(C)]
struct Sge {
    addr: u64,
    length: u32,
    lkey: u32,
}

#[repr(C)]
struct RecvWr {
    wr_id: u64,
    next: *mut c_void,
    sg_list: *mut Sge,
    num_sge: c_int,
}

#[repr(C)]
struct SendWr {
    wr_id: u64,
    next: *mut c_void,
    sg_list: *mut Sge,
    num_sge: c_int,
    opcode: u32,
    flags: u32,
    imm_data: u32,
    rest: [u64; 10],
}

#[repr(C)]
struct Wc {
    wr_id: u64,
    status: u32,
    opcode: u32,
    vendor_err: u32,
    byte_len: u32,
    rest: [u32; 6],
}

#[link(name = "ibverbs")]
extern "C" {
    fn ibv_get_device_list(count: *mut c_int) -> *mut *mut c_void;
    fn ibv_open_device(device: *mut c_void) -> *mut Context;
    fn ibv_query_port(context: *mut Context, port: u8, attr: *mut [u16; 64]) -> c_int;
    fn ibv_query_gid(context: *mut Context, port: u8, index: c_int, gid: *mut [u64; 2]) -> c_int;
    fn ibv_alloc_pd(context: *mut Context) -> *mut c_void;
    fn ibv_reg_mr(pd: *mut c_void, addr: *mut c_void, length: usize, access: c_int) -> *mut Mr;
    fn ibv_create_comp_channel(context: *mut Context) -> *mut c_void;
    fn ibv_create_cq(context: *mut Context, cqe: c_int, owner: *mut c_void, channel: *mut c_void, vector: c_int) -> *mut c_void;
    fn ibv_create_qp(pd: *mut c_void, attr: *mut QpInitAttr) -> *mut Qp;
    fn ibv_modify_qp(qp: *mut Qp, attr: *mut QpAttr, mask: c_int) -> c_int;
    fn ibv_get_cq_event(channel: *mut c_void, cq: *mut *mut c_void, owner: *mut *mut c_void) -> c_int;
    fn ibv_ack_cq_events(cq: *mut c_void, count: u32);
    fn ibv_destroy_qp(qp: *mut Qp) -> c_int;
    fn ibv_destroy_cq(cq: *mut c_void) -> c_int;
    fn ibv_destroy_comp_channel(channel: *mut c_void) -> c_int;
    fn ibv_dereg_mr(mr: *mut Mr) -> c_int;
    fn ibv_dealloc_pd(pd: *mut c_void) -> c_int;
    fn ibv_close_device(context: *mut Context) -> c_int;
}

fn there<T>(pointer: *mut T, verb: &str) -> *mut T {
    assert!(!pointer.is_null(), "{verb}: {}", std::io::Error::last_os_error());
    pointer
}

fn well(result: c_int, verb: &str) {
    assert_eq!(result, 0, "{verb}");
}

/// A queue pair, its memory and what tells of its completions.
struct End {
    context: *mut Context,
    mr: *mut Mr,
    channel: *mut c_void,
    cq: *mut c_void,
    qp: *mut Qp,
    bytes: Box<[u8]>,
}
unsafe impl Send for End {}

impl End {
    unsafe fn new(context: *mut Context, pd: *mut c_void) -> End {
        let mut bytes = vec![0u8; LENGTH].into_boxed_slice();
        let mr = there(ibv_reg_mr(pd, bytes.as_mut_ptr().cast(), LENGTH, 1), "ibv_reg_mr");
        let channel = there(ibv_create_comp_channel(context), "ibv_create_comp_channel");
        let cq = there(ibv_create_cq(context, 8, ptr::null_mut(), channel, 0), "ibv_create_cq");
        let cap = QpCap { send_wr: 2, recv_wr: 2, send_sge: 1, recv_sge: 1, inline_data: 0 };
        let (owner, srq) = (ptr::null_mut(), ptr::null_mut());
        let mut init = QpInitAttr { owner, send_cq: cq, recv_cq: cq, srq, cap, kind: 2, sq_sig_all: 1 };
        let qp = there(ibv_create_qp(pd, &mut init), "ibv_create_qp");
        End { context, mr, channel, cq, qp, bytes }
    }

    unsafe fn connect(&self, peer: u32) {
        let mut port = [0u16; 64];
        let mut attr: QpAttr = mem::zeroed();
        well(ibv_query_port(self.context, 1, &mut port), "ibv_query_port");
        well(ibv_query_gid(self.context, 1, 0, &mut attr.ah.dgid), "ibv_query_gid");
        attr.ah.dlid = port[17];
        (attr.ah.is_global, attr.ah.hop_limit, attr.ah.port_num, attr.port_num) = (1, 1, 1, 1);
        (attr.path_mtu, attr.dest_qp_num, attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer) =
            (3, peer, 14, 7, 7, 1);
        // INIT, RTR, RTS
        for (state, mask) in [(1, 0x39), (2, 0x12_9181), (3, 0x1_2e01)] {
            attr.state = state;
            well(ibv_modify_qp(self.qp, &mut attr, mask), "ibv_modify_qp");
        }
    }

    fn sge(&self) -> Sge {
        Sge { addr: self.bytes.as_ptr() as u64, length: LENGTH as u32, lkey: unsafe { (*self.mr).lkey } }
    }

    unsafe fn receive(&self) {
        let mut sge = self.sge();
        let mut wr = RecvWr { wr_id: RECEIVE, next: ptr::null_mut(), sg_list: &mut sge, num_sge: 1 };
        let mut bad: *mut RecvWr = ptr::null_mut();
        let post: extern "C" fn(*mut Qp, *mut RecvWr, *mut *mut RecvWr) -> c_int = mem::transmute((*self.context).ops[POST_RECV]);
        well(post(self.qp, &mut wr, &mut bad), "ibv_post_recv");
    }

    unsafe fn send(&self) {
        let mut sge = self.sge();
        let mut wr: SendWr = mem::zeroed();
        (wr.wr_id, wr.sg_list, wr.num_sge, wr.opcode) = (SEND, &mut sge, 1, 2);
        let mut bad: *mut SendWr = ptr::null_mut();
        let post: extern "C" fn(*mut Qp, *mut SendWr, *mut *mut SendWr) -> c_int = mem::transmute((*self.context).ops[POST_SEND]);
        well(post(self.qp, &mut wr, &mut bad), "ibv_post_send");
    }

    /// Sleeps until there are completions of these requests.
    unsafe fn completed(&self, requests: &[u64]) {
        let poll: extern "C" fn(*mut c_void, c_int, *mut Wc) -> c_int = mem::transmute((*self.context).ops[POLL_CQ]);
        let notify: extern "C" fn(*mut c_void, c_int) -> c_int = mem::transmute((*self.context).ops[REQ_NOTIFY_CQ]);
        let mut left = requests.to_vec();
        let mut armed = false;
        while !left.is_empty() {
            let mut wc: Wc = mem::zeroed();
            if poll(self.cq, 1, &mut wc) == 1 {
                assert_eq!(wc.status, 0, "of request {}", wc.wr_id);
                left.retain(|&id| id != wc.wr_id);
            } else if !armed {
                well(notify(self.cq, 0), "ibv_req_notify_cq");
                armed = true;
            } else {
                let (mut cq, mut owner) = (ptr::null_mut(), ptr::null_mut());
                well(ibv_get_cq_event(self.channel, &mut cq, &mut owner), "ibv_get_cq_event");
                ibv_ack_cq_events(cq, 1);
                armed = false;
            }
        }
    }

    unsafe fn destroy(self) {
        well(ibv_destroy_qp(self.qp), "ibv_destroy_qp");
        well(ibv_destroy_cq(self.cq), "ibv_destroy_cq");
        well(ibv_destroy_comp_channel(self.channel), "ibv_destroy_comp_channel");
        well(ibv_dereg_mr(self.mr), "ibv_dereg_mr");
    }
}

fn main() {
    unsafe {
        let mut count = 0;
        let list = there(ibv_get_device_list(&mut count), "ibv_get_device_list");
        let context = there(ibv_open_device(*list), "ibv_open_device");
        let pd = there(ibv_alloc_pd(context), "ibv_alloc_pd");
        let (mut client, mut server) = (End::new(context, pd), End::new(context, pd));
        client.connect((*server.qp).number);
        server.connect((*client.qp).number);
        server.receive();
        let echo = thread::spawn(move || {
            for message in 0..MESSAGES {
                // The reply before this message has completed with it at the latest.
                server.completed(if message == 0 { &[RECEIVE] } else { &[RECEIVE, SEND] });
                server.bytes.iter_mut().for_each(|byte| *byte ^= 0xff);
                server.receive();
                server.send();
            }
            server.completed(&[SEND]);
            server
        });
        for message in 0..MESSAGES {
            client.bytes.fill(message as u8);
            client.receive();
            client.send();
            client.completed(&[RECEIVE, SEND]);
            assert!(client.bytes.iter().all(|&byte| byte == !(message as u8)), "message {message}");
        }
        let server = echo.join().unwrap();
        client.destroy();
        server.destroy();
        well(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
        well(ibv_close_device(context), "ibv_close_device");
        println!("{MESSAGES} messages came back changed");
    }
}
