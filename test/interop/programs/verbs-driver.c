/*
 * Executes verbs that it is told: two queue pairs of one process, one command a line on standard input, one answer a line on standard
 * output. All arguments are decimal numbers. The memory of both ends lies in the file that the first argument names.
 *
 *     open SIDE TYPE SRQ SHARED_CQ SIG_ALL SENDS RECEIVES SEND_SGES RECV_SGES INLINE CQE
 *     reg SIDE OFFSET LENGTH ACCESS                       address lkey rkey
 *     connect MTU TIMEOUT RETRY RNR_RETRY RNR_TIMER       both from RESET to RTS, towards each other
 *     send SIDE COUNT, for each: WR_ID OPCODE FLAGS IMM REMOTE RKEY COMPARE_ADD SWAP SGES (ADDRESS LENGTH LKEY)...    errno bad_wr_id
 *     recv SIDE COUNT, for each: WR_ID SGES (ADDRESS LENGTH LKEY)...                                                  errno bad_wr_id
 *     poll SIDE RECEIVES MOST                             count, for each: wr_id status opcode byte_len imm qp_num src_qp flags
 *     state SIDE | error SIDE | reset SIDE | close
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { max_list = 16, max_sges = 64 };
static const uint32_t qkey = 0x11111111;

struct end {
  struct ibv_context *context;
  struct ibv_pd *pd;
  struct ibv_cq *cq[2];
  struct ibv_srq *srq;
  struct ibv_qp *qp;
  struct ibv_mr *mr;
  struct ibv_ah *ah;
  uint16_t lid;
  union ibv_gid gid;
};
static struct end ends[2];
static char *memory;
static size_t bytes;
static char *at;

static uint64_t next(void) { return strtoull(at, &at, 10); }

static void must(int holds, const char *what) {
  if (holds) return;
  printf("failed %s %s\n", what, strerror(errno));
  fflush(stdout);
  exit(1);
}

static void open_end(void) {
  struct end *e = &ends[next()];
  int number = 0;
  struct ibv_device **list = ibv_get_device_list(&number);
  must(number > 0, "ibv_get_device_list");
  memset(e, 0, sizeof *e);
  e->context = ibv_open_device(list[0]);
  must(e->context != NULL, "ibv_open_device");
  ibv_free_device_list(list);
  struct ibv_port_attr port;
  must(ibv_query_port(e->context, 1, &port) == 0, "ibv_query_port");
  must(ibv_query_gid(e->context, 1, 0, &e->gid) == 0, "ibv_query_gid");
  e->lid = port.lid;
  e->pd = ibv_alloc_pd(e->context);
  must(e->pd != NULL, "ibv_alloc_pd");
  struct ibv_qp_init_attr init = {.qp_type = (enum ibv_qp_type)next()};
  int has_srq = next(), shared = next();
  init.sq_sig_all = next();
  init.cap.max_send_wr = next();
  init.cap.max_recv_wr = next();
  init.cap.max_send_sge = next();
  init.cap.max_recv_sge = next();
  init.cap.max_inline_data = next();
  int cqe = next();
  e->cq[0] = ibv_create_cq(e->context, cqe, NULL, NULL, 0);
  e->cq[1] = shared ? e->cq[0] : ibv_create_cq(e->context, cqe, NULL, NULL, 0);
  must(e->cq[0] != NULL && e->cq[1] != NULL, "ibv_create_cq");
  if (has_srq) {
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = init.cap.max_recv_wr, .max_sge = init.cap.max_recv_sge}};
    e->srq = ibv_create_srq(e->pd, &attr);
    must(e->srq != NULL, "ibv_create_srq");
  }
  init.send_cq = e->cq[0];
  init.recv_cq = e->cq[1];
  init.srq = e->srq;
  e->qp = ibv_create_qp(e->pd, &init);
  must(e->qp != NULL, "ibv_create_qp");
  printf("%u %u %u\n", e->qp->qp_num, init.cap.max_inline_data, init.cap.max_send_sge);
}

static void reg(void) {
  uint64_t side = next(), offset = next(), length = next();
  struct end *e = &ends[side];
  e->mr = ibv_reg_mr(e->pd, memory + side * bytes + offset, length, (int)next());
  must(e->mr != NULL, "ibv_reg_mr");
  printf("%" PRIu64 " %u %u\n", (uint64_t)(uintptr_t)e->mr->addr, e->mr->lkey, e->mr->rkey);
}

static void modify(struct end *e, struct ibv_qp_attr *attr, int mask, const char *what) {
  errno = ibv_modify_qp(e->qp, attr, mask | IBV_QP_STATE);
  must(errno == 0, what);
}

static void connect_ends(void) {
  int mtu = next(), timeout = next(), retries = next(), rnr_retries = next(), rnr_timer = next();
  for (int side = 0; side < 2; side++) {
    struct end *e = &ends[side], *peer = &ends[1 - side];
    int is_ud = e->qp->qp_type == IBV_QPT_UD, is_rc = e->qp->qp_type == IBV_QPT_RC;
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey};
    init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    if (!is_rc) init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    modify(e, &init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | (is_ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS), "INIT");
    struct ibv_ah_attr path = {.dlid = peer->lid, .port_num = 1, .is_global = 1};
    path.grh.dgid = peer->gid;
    path.grh.hop_limit = 64;
    if (is_ud && e->ah == NULL) {
      e->ah = ibv_create_ah(e->pd, &path);
      must(e->ah != NULL, "ibv_create_ah");
    }
    struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR, .path_mtu = mtu, .dest_qp_num = peer->qp->qp_num, .rq_psn = 7};
    rtr.ah_attr = path;
    rtr.max_dest_rd_atomic = 4;
    rtr.min_rnr_timer = rnr_timer;
    int connected = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    int reliable = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    modify(e, &rtr, is_ud ? 0 : connected | (is_rc ? reliable : 0), "RTR");
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .sq_psn = 7, .timeout = timeout, .retry_cnt = retries};
    rts.rnr_retry = rnr_retries;
    rts.max_rd_atomic = 4;
    reliable = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    modify(e, &rts, IBV_QP_SQ_PSN | (is_rc ? reliable : 0), "RTS");
  }
  printf("0\n");
}

static int elements(struct ibv_sge *sges) {
  int count = next();
  for (int i = 0; i < count; i++) {
    sges[i].addr = next();
    sges[i].length = next();
    sges[i].lkey = next();
  }
  return count;
}

static void send_list(void) {
  struct end *e = &ends[next()];
  int count = next();
  struct ibv_send_wr list[max_list], *bad = NULL;
  struct ibv_sge sges[max_list][max_sges];
  memset(list, 0, sizeof list);
  for (int i = 0; i < count; i++) {
    struct ibv_send_wr *wr = &list[i];
    wr->next = i + 1 < count ? &list[i + 1] : NULL;
    wr->wr_id = next();
    wr->opcode = (enum ibv_wr_opcode)next();
    wr->send_flags = next();
    wr->imm_data = htonl(next());
    uint64_t remote = next(), rkey = next(), compare_add = next(), swap = next();
    if (e->qp->qp_type == IBV_QPT_UD) {
      wr->wr.ud.ah = e->ah;
      wr->wr.ud.remote_qpn = ends[e == ends].qp->qp_num;
      wr->wr.ud.remote_qkey = qkey;
    } else if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr->wr.atomic.remote_addr = remote;
      wr->wr.atomic.rkey = rkey;
      wr->wr.atomic.compare_add = compare_add;
      wr->wr.atomic.swap = swap;
    } else {
      wr->wr.rdma.remote_addr = remote;
      wr->wr.rdma.rkey = rkey;
    }
    wr->sg_list = sges[i];
    wr->num_sge = elements(sges[i]);
  }
  int error = ibv_post_send(e->qp, list, &bad);
  printf("%d %" PRIu64 "\n", error, error != 0 && bad != NULL ? bad->wr_id : 0);
}

static void recv_list(void) {
  struct end *e = &ends[next()];
  int count = next();
  struct ibv_recv_wr list[max_list], *bad = NULL;
  struct ibv_sge sges[max_list][max_sges];
  for (int i = 0; i < count; i++) {
    list[i].next = i + 1 < count ? &list[i + 1] : NULL;
    list[i].wr_id = next();
    list[i].sg_list = sges[i];
    list[i].num_sge = elements(sges[i]);
  }
  int error = e->srq ? ibv_post_srq_recv(e->srq, list, &bad) : ibv_post_recv(e->qp, list, &bad);
  struct ibv_qp_attr attr;
  struct ibv_qp_init_attr init;
  must(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init) == 0, "ibv_query_qp");
  /* The provider tells nobody of a receive, so that one of a queue pair in ERR is flushed when that is modified. */
  if (attr.qp_state == IBV_QPS_ERR) modify(e, &(struct ibv_qp_attr){.qp_state = IBV_QPS_ERR}, 0, "ERR");
  printf("%d %" PRIu64 "\n", error, error != 0 && bad != NULL ? bad->wr_id : 0);
}

static void poll_cq(void) {
  struct end *e = &ends[next()];
  struct ibv_cq *cq = e->cq[next()];
  struct ibv_wc wc[max_list];
  int count = ibv_poll_cq(cq, (int)next(), wc);
  printf("%d", count);
  for (int i = 0; i < count; i++)
    printf(" %" PRIu64 " %d %d %u %u %u %u %u", wc[i].wr_id, wc[i].status, wc[i].opcode, wc[i].byte_len,
           ntohl(wc[i].imm_data), wc[i].qp_num, wc[i].src_qp, wc[i].wc_flags);
  printf("\n");
}

static void state(void) {
  struct ibv_qp_attr attr;
  struct ibv_qp_init_attr init;
  must(ibv_query_qp(ends[next()].qp, &attr, IBV_QP_STATE, &init) == 0, "ibv_query_qp");
  printf("%d\n", attr.qp_state);
}

static void set_state(enum ibv_qp_state state) {
  struct ibv_qp_attr attr = {.qp_state = state};
  modify(&ends[next()], &attr, 0, "modify");
  printf("0\n");
}

static void close_ends(void) {
  for (int side = 0; side < 2; side++) {
    struct end *e = &ends[side];
    if (e->context == NULL) continue;
    if (e->ah) must(ibv_destroy_ah(e->ah) == 0, "ibv_destroy_ah");
    if (e->qp) must(ibv_destroy_qp(e->qp) == 0, "ibv_destroy_qp");
    if (e->srq) must(ibv_destroy_srq(e->srq) == 0, "ibv_destroy_srq");
    if (e->cq[1] && e->cq[1] != e->cq[0]) must(ibv_destroy_cq(e->cq[1]) == 0, "ibv_destroy_cq");
    if (e->cq[0]) must(ibv_destroy_cq(e->cq[0]) == 0, "ibv_destroy_cq");
    if (e->mr) must(ibv_dereg_mr(e->mr) == 0, "ibv_dereg_mr");
    must(ibv_dealloc_pd(e->pd) == 0, "ibv_dealloc_pd");
    must(ibv_close_device(e->context) == 0, "ibv_close_device");
  }
  memset(ends, 0, sizeof ends);
  printf("0\n");
}

int main(int argc, char **argv) {
  must(argc == 3, "usage: verbs-driver FILE BYTES_OF_AN_END");
  bytes = strtoull(argv[2], NULL, 10);
  int fd = open(argv[1], O_RDWR);
  memory = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  must(memory != MAP_FAILED, "mmap");
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, stdin) > 0) {
    at = strchr(line, ' ');
    if (at == NULL) at = line + strlen(line);
    if (strncmp(line, "open", 4) == 0) open_end();
    else if (strncmp(line, "reg", 3) == 0) reg();
    else if (strncmp(line, "connect", 7) == 0) connect_ends();
    else if (strncmp(line, "send", 4) == 0) send_list();
    else if (strncmp(line, "recv", 4) == 0) recv_list();
    else if (strncmp(line, "poll", 4) == 0) poll_cq();
    else if (strncmp(line, "state", 5) == 0) state();
    else if (strncmp(line, "error", 5) == 0) set_state(IBV_QPS_ERR);
    else if (strncmp(line, "reset", 5) == 0) set_state(IBV_QPS_RESET);
    else if (strncmp(line, "close", 5) == 0) close_ends();
    else must(0, line);
    fflush(stdout);
  }
  return 0;
}
