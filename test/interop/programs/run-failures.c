/* Makes the mistakes that `verbena run --explain` is to explain, one after the other, and says what libibverbs says of each. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

static char buffer[4096];
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_port_attr port;

static struct ibv_qp *make(enum ibv_qp_type type) {
  struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .cap = {8, 8, 1, 1, 0}, .qp_type = type};
  return ibv_create_qp(pd, &init);
}

static void connect_to(struct ibv_qp *qp, uint32_t dest, int access) {
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access};
  ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = dest,
                            .max_dest_rd_atomic = 1, .min_rnr_timer = 1, .ah_attr = {.dlid = port.lid, .port_num = 1}};
  ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .timeout = 8, .retry_cnt = 1, .rnr_retry = 0, .max_rd_atomic = 1};
  ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                              IBV_QP_MAX_QP_RD_ATOMIC);
}

static int post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint32_t lkey, uint64_t remote, uint32_t rkey) {
  struct ibv_sge sge = {(uintptr_t)buffer, 64, lkey};
  struct ibv_send_wr *bad, wr = {.wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
                                 .send_flags = IBV_SEND_SIGNALED, .wr.rdma = {remote, rkey}};
  return ibv_post_send(qp, &wr, &bad);
}

int main(void) {
  struct ibv_device **list = ibv_get_device_list(NULL);
  struct ibv_context *context = list[0] ? ibv_open_device(list[0]) : NULL;
  if (!context || ibv_query_port(context, 1, &port)) return 1;
  pd = ibv_alloc_pd(context);
  cq = ibv_create_cq(context, 16, NULL, NULL, 0);
  struct ibv_mr *mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  uint64_t address = (uintptr_t)buffer;

  if (!ibv_create_cq(context, 1 << 30, NULL, NULL, 0)) printf("ibv_create_cq: %s\n", strerror(errno));
  if (!make(IBV_QPT_RAW_PACKET)) printf("ibv_create_qp: %s\n", strerror(errno));
  struct ibv_qp *qp = make(IBV_QPT_RC);
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024};
  for (int i = 0; i < 3; i++)
    printf("ibv_modify_qp: %s\n", strerror(ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)));
  printf("ibv_post_send in INIT: %d\n", post(qp, IBV_WR_SEND, mr->lkey, 0, 0));
  ibv_destroy_qp(qp);

  for (int i = 0; i < 5; i++) {
    struct ibv_qp *a = make(IBV_QPT_RC), *b = make(IBV_QPT_RC);
    connect_to(a, i == 4 ? 0x123456 : b->qp_num, 0);
    connect_to(b, a->qp_num, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
    switch (i) {
    case 0: post(a, IBV_WR_RDMA_READ, mr->lkey, address + 4090, mr->rkey); break;
    case 1: post(a, IBV_WR_RDMA_WRITE, mr->lkey, address, mr->rkey); break;
    case 2: post(a, IBV_WR_SEND, 0x1234, 0, 0); break;
    default: post(a, IBV_WR_SEND, mr->lkey, 0, 0);
    }
    struct ibv_wc wc;
    while (ibv_poll_cq(cq, 1, &wc) == 0);
    printf("wr_id %d: %s\n", (int)wc.wr_id, ibv_wc_status_str(wc.status));
    ibv_destroy_qp(a);
    ibv_destroy_qp(b);
  }
  return 0;
}
