/*
 * The other end of a replay on libibverbs and a kernel's device: what `verbena replay server` is on the devices of Verbena.
 * It speaks the lines of JSON of src/tools/replay/meeting.ts with one client, performs what end 1 has sent, and ends.
 *
 *     replay-peer DEVICE GID-INDEX PORT
 *
 * Memory of a connection, as src/tools/replay/lane.ts has it: WRITEs of the peer that make no completion end with the region, and their
 * last four bytes are their number.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

enum { SEND, SEND_IMM, SEND_INV, WRITE, WRITE_IMM, READ, FETCH_ADD, COMPARE_SWAP };
enum { RECEIVED, COMPLETED, SENT };
enum { MOST_DEPTH = 64, MOST_RECEIVES = 256, LINE_MESSAGES = 500, GRH = 40, QKEY = 0x11111111, PAGE = 4096 };
/* The wrId of receives; those of requests are indices of messages. */
static const uint64_t receive_id = 1ull << 40;
static const double no_time = -1e300;

struct message {
  int64_t id, after;
  int connection, from, op, wait;
  uint32_t bytes;
  /* Nanoseconds after the start; `no_time` while it is not known. */
  double at, think, due, posted, done;
};

struct end {
  uint32_t qpn, psn, rkey;
  uint64_t addr;
  union ibv_gid gid;
};

struct lane {
  enum ibv_qp_type type;
  int mtu, outstanding, failed;
  struct ibv_qp *qp;
  struct ibv_ah *ah;
  struct ibv_mr *mr;
  uint8_t *memory;
  uint32_t psn;
  /* Bytes of the region here and at the peer, and of what the source and the sink have room for. */
  size_t region, peer_region, room;
  struct end peer;
  /* Indices of messages: to be sent, that complete a receive, WRITEs that are seen in memory. */
  int *outgoing, *incoming, *writes;
  int sends, receives, looks, posted, arrived, seen, visible;
};

/* The client, to be read and written. */
static FILE *wire_in, *wire;
static char *line;
static size_t line_room;
static struct lane *lanes;
static struct message *messages;
static int lane_count, message_count, depth, open_loop;
static double speed, stall_ns, start_ns;
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_port_attr port;
static union ibv_gid gid;
static int gid_index;
static struct { long long messages, bytes, writes, wrong, lost, impatient; } counts;
static char failure[200];

static void die(const char *format, ...) {
  char text[400];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  fprintf(stderr, "replay-peer: %s\n", text);
  if (wire) fprintf(wire, "{\"type\":\"error\",\"message\":\"%s\"}\n", text), fflush(wire);
  exit(1);
}

static void *make(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory) die("no memory for %zu of %zu bytes", count, size);
  return memory;
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

/* ---- Lines of JSON: what JSON.stringify makes of messages whose shape is known. */

/* Reads the next line, which must be of this type. */
static void hear(const char *type) {
  char head[64];
  snprintf(head, sizeof head, "\"type\":\"%s\"", type);
  fflush(wire);
  if (getline(&line, &line_room, wire_in) < 0) die("the client left before it said %s", type);
  if (!strstr(line, head)) die("the client did not say %s", type);
}

/* Behind the name and the colon of a property. */
static const char *property(const char *from, const char *name) {
  char text[64];
  snprintf(text, sizeof text, "\"%s\":", name);
  const char *at = strstr(from, text);
  if (!at) die("there is no %s", name);
  return at + strlen(text);
}

static double number(const char *from, const char *name) { return strtod(property(from, name), NULL); }

static void parse_hello(void) {
  hear("hello");
  if (number(line, "protocol") != 1) die("the client speaks another version of the protocol");
  open_loop = !strncmp(property(line, "mode"), "\"open", 5);
  speed = number(line, "speed");
  depth = number(line, "depth");
  if (depth > MOST_DEPTH) depth = MOST_DEPTH;
  stall_ns = number(line, "stallMs") * 1e6;
  const char *at = property(line, "connections");
  const char *behind = strchr(at, ']');
  for (const char *one = at; (one = strchr(one, '{')) && one < behind; one++) lane_count++;
  lanes = make(lane_count, sizeof *lanes);
  for (int i = 0; i < lane_count; i++) {
    at = strchr(at, '{') + 1;
    const char *type = property(at, "type");
    lanes[i].type = type[2] == 'C' ? (type[1] == 'R' ? IBV_QPT_RC : IBV_QPT_UC) : IBV_QPT_UD;
    lanes[i].mtu = number(at, "mtu");
  }
  int expected = number(line + strcspn(line, "]"), "messages");
  messages = make(expected, sizeof *messages);
  while (message_count < expected) {
    hear("messages");
    char *at = (char *)property(line, "messages");
    while ((at = strpbrk(at, "-0123456789")) && message_count < expected) {
      double n[9];
      for (int i = 0; i < 9; i++) n[i] = strtod(at, &at), at++;
      struct message *m = messages + message_count++;
      *m = (struct message){n[0], n[6], n[1], n[2], n[3], n[7], n[4], n[5], n[8], no_time, no_time, no_time};
      if (m->connection < 0 || m->connection >= lane_count || m->op < 0 || m->op > COMPARE_SWAP) die("a message is none");
    }
    fprintf(wire, "{\"type\":\"next\"}\n");
  }
}

static void parse_endpoints(void) {
  hear("endpoints");
  const char *at = property(line, "endpoints");
  for (int i = 0; i < lane_count; i++) {
    if (!(at = strchr(at, '{'))) die("the client has fewer queue pairs than connections");
    struct end *e = &lanes[i].peer;
    *e = (struct end){number(at, "qpn"), number(at, "psn"), number(at, "rkey"), number(at, "addr"), {{0}}};
    const char *hex = property(at, "gid") + 1;
    for (int k = 0; k < 16; k++) sscanf(hex + 2 * k, "%2hhx", &e->gid.raw[k]);
    at++;
  }
}

/* ---- Queue pairs and their memory. */

static int is_send(int op) { return op <= SEND_INV; }
static int notifies(int op) { return is_send(op) || op == WRITE_IMM; }
static int is_counted(const struct message *m) { return m->op == WRITE && m->bytes >= 4; }

static void widen(size_t *region, const struct message *m) {
  size_t bytes = 16 + (m->bytes + 7) / 8 * 8;
  if (!is_send(m->op) && bytes > *region) *region = bytes;
}

static uint8_t *source_of(struct lane *l) { return l->memory + l->region; }
static uint8_t *sink_of(struct lane *l) { return source_of(l) + l->room; }
/* Numbers of WRITEs that are outstanding. */
static uint32_t *slot_of(struct lane *l, int slot) { return (uint32_t *)(sink_of(l) + l->room) + slot; }

static void make_lane(int i) {
  struct lane *l = lanes + i;
  l->outgoing = make(message_count, sizeof(int));
  l->incoming = make(message_count, sizeof(int));
  l->writes = make(message_count, sizeof(int));
  l->region = l->peer_region = 24;
  l->room = PAGE;
  for (int k = 0; k < message_count; k++) {
    struct message *m = messages + k;
    if (m->connection != i) continue;
    if (m->bytes + GRH > l->room) l->room = (m->bytes + GRH + PAGE - 1) / PAGE * PAGE;
    widen(m->from == 1 ? &l->peer_region : &l->region, m);
    if (m->from == 1) l->outgoing[l->sends++] = k;
    else if (notifies(m->op)) l->incoming[l->receives++] = k;
    else if (is_counted(m)) l->writes[l->looks++] = k;
  }
  size_t bytes = l->region + 2 * l->room + MOST_DEPTH * sizeof(uint32_t);
  if (posix_memalign((void **)&l->memory, PAGE, bytes)) die("no memory for %zu bytes", bytes);
  memset(l->memory, 0, bytes);
  int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  if (!(l->mr = ibv_reg_mr(pd, l->memory, bytes, rights))) die("ibv_reg_mr: %s", strerror(errno));
  struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .qp_type = l->type, .cap = {depth, MOST_RECEIVES, 2, 1, 0}};
  if (!(l->qp = ibv_create_qp(pd, &attr))) die("ibv_create_qp: %s", strerror(errno));
  l->psn = rand() & 0xffffff;
}

static void modify(struct lane *l, struct ibv_qp_attr *attr, int mask) {
  int error = ibv_modify_qp(l->qp, attr, mask | IBV_QP_STATE);
  if (error) die("ibv_modify_qp to state %d: %s", attr->qp_state, strerror(error));
}

static void connect_lane(struct lane *l) {
  int rc = l->type == IBV_QPT_RC, ud = l->type == IBV_QPT_UD, mtu = port.active_mtu;
  for (int known = IBV_MTU_256; known < mtu; known++)
    if (l->mtu == 128 << known) mtu = known;
  struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1, .grh = {.dgid = l->peer.gid, .sgid_index = gid_index, .hop_limit = 64}};
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY, .qp_access_flags = 0xf};
  modify(l, &init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR, .path_mtu = mtu, .dest_qp_num = l->peer.qpn, .rq_psn = l->peer.psn,
                            .max_dest_rd_atomic = 16, .min_rnr_timer = 12, .ah_attr = ah};
  int path = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  modify(l, &rtr, ud ? 0 : path | (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
  struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .sq_psn = l->psn, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 16};
  int retries = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  modify(l, &rts, IBV_QP_SQ_PSN | (rc ? retries : 0));
  if (ud && !(l->ah = ibv_create_ah(pd, &ah))) die("ibv_create_ah: %s", strerror(errno));
}

static void post_receive(struct lane *l) {
  struct ibv_sge sge = {(uintptr_t)sink_of(l), l->room, l->mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = receive_id, .sg_list = &sge, .num_sge = 1}, *bad;
  int error = ibv_post_recv(l->qp, &wr, &bad);
  if (error) die("ibv_post_recv: %s", strerror(error));
}

static void post_send(struct lane *l, int k) {
  static const enum ibv_wr_opcode opcodes[] = {
    IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
    IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP,
  };
  struct message *m = messages + k;
  int atomic = m->op == FETCH_ADD || m->op == COMPARE_SWAP;
  uint64_t from = (uintptr_t)(atomic || m->op == READ ? sink_of(l) : source_of(l));
  struct ibv_sge sges[2] = {{from, m->bytes, l->mr->lkey}};
  struct ibv_send_wr wr = {.wr_id = k, .sg_list = sges, .num_sge = m->bytes > 0, .opcode = opcodes[m->op], .send_flags = IBV_SEND_SIGNALED}, *bad;
  uint64_t to = l->peer.addr + (atomic ? 0 : 8);
  if (is_counted(m)) {
    uint32_t *slot = slot_of(l, l->visible % MOST_DEPTH);
    *slot = ++l->visible;
    sges[0].length -= 4;
    wr.num_sge = sges[0].length > 0;
    sges[wr.num_sge++] = (struct ibv_sge){(uintptr_t)slot, 4, l->mr->lkey};
    to = l->peer.addr + l->peer_region - m->bytes;
  }
  if (l->type == IBV_QPT_UD) {
    wr.wr.ud.ah = l->ah;
    wr.wr.ud.remote_qpn = l->peer.qpn;
    wr.wr.ud.remote_qkey = QKEY;
  } else if (atomic) {
    wr.wr.atomic.remote_addr = to;
    wr.wr.atomic.rkey = l->peer.rkey;
  } else {
    wr.wr.rdma.remote_addr = to;
    wr.wr.rdma.rkey = l->peer.rkey;
  }
  int error = ibv_post_send(l->qp, &wr, &bad);
  if (error) die("ibv_post_send of operation %d: %s", m->op, strerror(error));
}

/* ---- The run. */

/* Messages that waited for this one are due some time later. */
static void happened(int wait, int64_t id, double now) {
  if (open_loop) return;
  for (int i = 0; i < lane_count; i++)
    for (int k = lanes[i].posted; k < lanes[i].sends; k++) {
      struct message *m = messages + lanes[i].outgoing[k];
      if (m->after == id && m->wait == wait) m->due = now - start_ns + m->think;
    }
}

static void fail(struct lane *l, const char *what, enum ibv_wc_status status) {
  l->failed = 1;
  if (!failure[0]) snprintf(failure, sizeof failure, "%s ended with %s", what, ibv_wc_status_str(status));
}

static void received(struct lane *l, struct ibv_wc *wc, double now) {
  if (wc->status == IBV_WC_WR_FLUSH_ERR) return;
  if (wc->status != IBV_WC_SUCCESS) return fail(l, "a receive", wc->status);
  uint32_t bytes = wc->byte_len - (l->type == IBV_QPT_UD ? GRH : 0);
  counts.messages++;
  counts.bytes += bytes;
  post_receive(l);
  /* What UC and UD have lost is passed over. */
  for (int k = l->arrived; l->type != IBV_QPT_RC && k < l->receives; k++)
    if (messages[l->incoming[k]].bytes == bytes) {
      counts.lost += k - l->arrived;
      l->arrived = k;
      break;
    }
  struct message *m = l->arrived < l->receives ? messages + l->incoming[l->arrived] : NULL;
  if (!m || m->bytes != bytes || (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) != (m->op == WRITE_IMM)) counts.wrong++;
  if (!m) return;
  l->arrived++;
  happened(RECEIVED, m->id, now);
}

static int collect(void) {
  struct ibv_wc wcs[16];
  int n = ibv_poll_cq(cq, 16, wcs);
  if (n < 0) die("ibv_poll_cq failed");
  double now = now_ns();
  for (int i = 0; i < n; i++) {
    struct ibv_wc *wc = wcs + i;
    struct lane *l = lanes;
    while (l->qp->qp_num != wc->qp_num) l++;
    if (wc->wr_id == receive_id) {
      received(l, wc, now);
      continue;
    }
    l->outstanding--;
    if (wc->status != IBV_WC_SUCCESS) {
      fail(l, "a request", wc->status);
      continue;
    }
    messages[wc->wr_id].done = now - start_ns;
    happened(COMPLETED, messages[wc->wr_id].id, now);
  }
  return n;
}

static int look(void) {
  int found = 0;
  for (struct lane *l = lanes; l < lanes + lane_count; l++) {
    int seen = *(volatile uint32_t *)(l->memory + l->region - 4);
    for (; l->seen < seen && l->seen < l->looks; found++) {
      counts.writes++;
      happened(RECEIVED, messages[l->writes[l->seen++]].id, now_ns());
    }
  }
  return found;
}

/* Posts what is due, and whatever else is next if `impatient`. 0: nothing is left that could be posted; −1: nothing is due. */
static int post(int impatient) {
  int waits = 0, done = 0;
  for (struct lane *l = lanes; l < lanes + lane_count; l++)
    while (!l->failed && l->posted < l->sends && l->outstanding < depth) {
      struct message *m = messages + l->outgoing[l->posted];
      double now = now_ns() - start_ns;
      if (m->due == no_time && impatient) {
        m->due = now;
        counts.impatient++;
      }
      waits = 1;
      if (m->due == no_time || m->due > now) break;
      post_send(l, l->outgoing[l->posted++]);
      l->outstanding++;
      m->posted = now;
      happened(SENT, m->id, now + start_ns);
      done++;
    }
  return done > 0 ? done : -waits;
}

/* Some message has a time at which it will be posted. */
static int is_scheduled(void) {
  for (struct lane *l = lanes; l < lanes + lane_count; l++)
    if (!l->failed && l->posted < l->sends && l->outstanding < depth && messages[l->outgoing[l->posted]].due != no_time) return 1;
  return 0;
}

static int is_complete(void) {
  for (struct lane *l = lanes; l < lanes + lane_count; l++)
    if (l->outstanding > 0 || (!l->failed && (l->posted < l->sends || l->arrived < l->receives || l->seen < l->looks))) return 0;
  return 1;
}

static void run(void) {
  start_ns = now_ns() + 50e6;
  for (int k = 0; k < message_count; k++) {
    struct message *m = messages + k;
    if (speed > 0) m->think /= speed;
    else m->think = 0;
    if (open_loop || m->wait < 0) m->due = speed > 0 ? m->at / speed : 0;
  }
  double progress = start_ns;
  while (!is_complete()) {
    if (collect() + look() + (post(0) > 0) > 0 || is_scheduled()) progress = now_ns();
    else if (now_ns() - progress > stall_ns) {
      if (post(1) <= 0) break;
      progress = now_ns();
    } else usleep(50);
  }
}

static void report(void) {
  long long failed = 0;
  for (int k = 0, n = 0; k < message_count; k++) {
    struct message *m = messages + k;
    if (m->posted != no_time) {
      fprintf(wire, "%s[%" PRId64 ",%.0f,%.0f,", n ? "," : "{\"type\":\"performed\",\"performed\":[", m->id, m->due, m->posted);
      fprintf(wire, m->done == no_time ? "null]" : "%.0f]", m->done);
      n++;
    }
    if (n == LINE_MESSAGES || (n > 0 && k == message_count - 1)) {
      fprintf(wire, "]}\n");
      hear("next");
      n = 0;
    }
  }
  for (struct lane *l = lanes; l < lanes + lane_count; l++) {
    counts.lost += l->receives - l->arrived + l->looks - l->seen;
    for (int k = 0; k < l->sends; k++) failed += messages[l->outgoing[k]].done == no_time;
  }
  fprintf(wire, "{\"type\":\"report\",\"report\":{\"received\":{\"messages\":%lld,\"bytes\":%lld},\"seenWrites\":%lld,",
          counts.messages, counts.bytes, counts.writes);
  fprintf(wire, "\"wrongSizes\":%lld,\"lost\":%lld,\"impatient\":%lld,\"failed\":%lld,\"failure\":", counts.wrong, counts.lost,
          counts.impatient, failed);
  fprintf(wire, failure[0] ? "\"%s\"}}\n" : "null}}\n", failure);
  printf("received %lld messages, %lld bytes; %lld WRITEs seen; %lld failed %s\n", counts.messages, counts.bytes, counts.writes,
         failed, failure);
}

static void open_device(const char *name) {
  int count;
  struct ibv_device **list = ibv_get_device_list(&count);
  for (int i = 0; i < count; i++)
    if (!strcmp(ibv_get_device_name(list[i]), name)) context = ibv_open_device(list[i]);
  if (!context || ibv_query_port(context, 1, &port) || ibv_query_gid(context, 1, gid_index, &gid)) die("no device %s", name);
}

static void accept_client(int tcp_port) {
  int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(tcp_port)};
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, (struct sockaddr *)&any, sizeof any) || listen(listener, 1)) die("port %d: %s", tcp_port, strerror(errno));
  int client = accept(listener, NULL, NULL);
  close(listener);
  if (client < 0) die("nobody came");
  wire_in = fdopen(client, "r");
  wire = fdopen(dup(client), "w");
}

int main(int argc, char **argv) {
  if (argc != 4) die("usage: replay-peer DEVICE GID-INDEX PORT");
  gid_index = atoi(argv[2]);
  open_device(argv[1]);
  srand(getpid());
  accept_client(atoi(argv[3]));
  parse_hello();
  pd = ibv_alloc_pd(context);
  cq = ibv_create_cq(context, lane_count * (depth + MOST_RECEIVES) + 16, NULL, NULL, 0);
  if (!pd || !cq) die("no protection domain or completion queue: %s", strerror(errno));
  for (int i = 0; i < lane_count; i++) make_lane(i);
  parse_endpoints();
  fprintf(wire, "{\"type\":\"endpoints\",\"device\":\"%s\",\"endpoints\":[", argv[1]);
  for (int i = 0; i < lane_count; i++) {
    struct lane *l = lanes + i;
    fprintf(wire, "%s{\"qpn\":%u,\"psn\":%u,\"lid\":0,\"addr\":%" PRIuPTR ",\"rkey\":%u,\"gid\":\"", i ? "," : "", l->qp->qp_num, l->psn,
            (uintptr_t)l->memory, l->mr->rkey);
    for (int k = 0; k < 16; k++) fprintf(wire, "%02x", gid.raw[k]);
    fprintf(wire, "\"}");
  }
  fprintf(wire, "]}\n");
  for (int i = 0; i < lane_count; i++) {
    connect_lane(lanes + i);
    for (int k = 0; k < MOST_RECEIVES; k++) post_receive(lanes + i);
  }
  fprintf(wire, "{\"type\":\"ready\"}\n");
  hear("ready");
  hear("start");
  run();
  /* Until then the client may read from this end, or need an acknowledgement again. */
  hear("done");
  report();
  fflush(wire);
  return 0;
}
