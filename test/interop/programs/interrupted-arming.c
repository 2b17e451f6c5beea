/* Writes to itself, and waits for an event of each completion, while a signal interrupts its calls; a call that arms the queue is not repeated. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static void nothing(int number) { (void)number; }

static void check(int is_well, const char *what) {
  if (is_well) return;
  perror(what);
  exit(1);
}

int main(int count, char **args) {
  int rounds = count > 1 ? atoi(args[1]) : 1, failures = 0;
  static char buffer[64];
  struct ibv_port_attr port;
  struct ibv_device **list = ibv_get_device_list(NULL);
  struct ibv_context *context = list[0] ? ibv_open_device(list[0]) : NULL;
  check(context && !ibv_query_port(context, 1, &port), "the device");
  struct ibv_pd *pd = ibv_alloc_pd(context);
  struct ibv_mr *mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
  struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, channel, 0);
  struct ibv_qp_init_attr made = {.send_cq = cq, .recv_cq = cq, .cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC};
  struct ibv_qp *qp = ibv_create_qp(pd, &made);
  check(mr && channel && cq && qp, "objects");
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
  check(!ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = qp->qp_num,
                            .max_dest_rd_atomic = 1, .min_rnr_timer = 1, .ah_attr = {.dlid = port.lid, .port_num = 1}};
  check(!ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), "RTR");
  struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
  check(!ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                     IBV_QP_MAX_QP_RD_ATOMIC), "RTS");

  struct sigaction action = {.sa_handler = nothing};
  struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < rounds; i++) {
    ibv_req_notify_cq(cq, 0);
    struct ibv_sge sge = {(uintptr_t)buffer, 8, mr->lkey};
    struct ibv_send_wr *bad, wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
                                   .send_flags = IBV_SEND_SIGNALED, .wr.rdma = {(uintptr_t)buffer + 32, mr->rkey}};
    ibv_post_send(qp, &wr, &bad);
    struct ibv_cq *of;
    void *its;
    int result;
    while ((result = ibv_get_cq_event(channel, &of, &its)) != 0 && errno == EINTR);
    check(!result, "ibv_get_cq_event");
    ibv_ack_cq_events(of, 1);
    struct ibv_wc wc;
    while (ibv_poll_cq(cq, 1, &wc) > 0) failures += wc.status != IBV_WC_SUCCESS;
  }
  setitimer(ITIMER_REAL, &never, NULL);
  printf("%d events, %d failures\n", rounds, failures);
  return 0;
}
