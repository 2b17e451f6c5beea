#compdef verbena
# zsh completion for verbena. Made by `npm run docs` from the options of the commands.

_verbena_devices() {
  local -a names
  names=(${(f)"$(verbena devices 2> /dev/null | tail -n +2 | cut -d ' ' -f 1)"})
  compadd -a names
}

_verbena() {
  local state line
  _arguments -C \
    '(-V --version)'{-V,--version}'[print the version]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=(
      'start:measure with good defaults in under a minute, then write the report'
      'bench:measure\: one-way latency, throughput, rsockets beside TCP, or node-types'
      'collective:choose the algorithms of collective operations\: measure, tune'
      'report:make a report from saved results'
      'trace:look at captures of RDMA traffic\: check, show, info, convert'
      'traffic:generate RDMA traffic by distributions of sizes, arrivals and verbs\: server, client, cdf'
      'collect:collect RDMA traffic of this host\: counters, what carries RoCE, traces'
      'monitor:watch RDMA traffic\: who loads the network, what is lost, where it congests'
      'replay:replay captured RDMA traffic\: its packets rewritten, or its messages as verbs'
      'run:run an unmodified RDMA program\: its adapters are ours. No adapter, no kernel module, no root'
      'gateway:samples of real-time simulators, as VILLASnode has them\: node, pipe, signal, convert, …'
      'perf:perftest\: bandwidth and latency between two processes'
      'rc_pingpong:ibv_rc_pingpong\: messages to and fro, RC'
      'ibv_rc_pingpong:ibv_rc_pingpong\: messages to and fro, RC'
      'uc_pingpong:ibv_uc_pingpong\: the same, UC'
      'ibv_uc_pingpong:ibv_uc_pingpong\: the same, UC'
      'ud_pingpong:ibv_ud_pingpong\: the same, UD'
      'ibv_ud_pingpong:ibv_ud_pingpong\: the same, UD'
      'srq_pingpong:ibv_srq_pingpong\: many RC queue pairs, one receive queue'
      'ibv_srq_pingpong:ibv_srq_pingpong\: many RC queue pairs, one receive queue'
      'rping:rping\: RDMA READ and WRITE to and fro, RDMA CM'
      'ucmatose:ucmatose\: messages on RC connections, RDMA CM'
      'udaddy:udaddy\: datagrams, RDMA CM'
      'mckey:mckey\: datagrams to a multicast group, RDMA CM'
      'cmtime:cmtime\: how long connections of the RDMA CM take'
      'rstream:rstream\: streams over rsockets, or kernel TCP'
      'riostream:riostream\: writes into mapped memory over rsockets'
      'rcopy:rcopy\: files over rsockets'
      'udpong:udpong\: datagrams over rsockets, or kernel UDP'
      'devices:list the adapters of this host'
      'ibv_devices:list the adapters of this host'
      'devinfo:show what an adapter can do'
      'ibv_devinfo:show what an adapter can do'
      'completion:print the completion script of bash, zsh or fish'
      )
      _describe command commands ;;
    argument)
      case $line[1] in
        start) _verbena_start ;;
        bench) _verbena_bench ;;
        collective) _verbena_collective ;;
        report) _verbena_report ;;
        trace) _verbena_trace ;;
        traffic) _verbena_traffic ;;
        collect) _verbena_collect ;;
        monitor) _verbena_monitor ;;
        replay) _verbena_replay ;;
        run) _verbena_run ;;
        gateway) _verbena_gateway ;;
        perf) _verbena_perf ;;
        rc_pingpong|ibv_rc_pingpong) _verbena_rc_pingpong ;;
        uc_pingpong|ibv_uc_pingpong) _verbena_uc_pingpong ;;
        ud_pingpong|ibv_ud_pingpong) _verbena_ud_pingpong ;;
        srq_pingpong|ibv_srq_pingpong) _verbena_srq_pingpong ;;
        rping) _verbena_rping ;;
        ucmatose) _verbena_ucmatose ;;
        udaddy) _verbena_udaddy ;;
        mckey) _verbena_mckey ;;
        cmtime) _verbena_cmtime ;;
        rstream) _verbena_rstream ;;
        riostream) _verbena_riostream ;;
        rcopy) _verbena_rcopy ;;
        udpong) _verbena_udpong ;;
        devices|ibv_devices) _verbena_devices ;;
        devinfo|ibv_devinfo) _verbena_devinfo ;;
        completion) _verbena_completion ;;
      esac ;;
  esac
}

_verbena_start() {
  _arguments -s \
    --repeat'[measure every combination so many times]:times:' \
    --seed'[for the payload behind the stamp and the order of the sets]:number:' \
    --out'[where results and report are kept]:dir:_files -/' \
    --open'[open the report in the browser]::yes|no:_values -s , value yes no' \
    --json'[print one JSON document on stdout and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_bench() {
  local state line
  _arguments -C \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=(
      'latency:one-way latency of messages'
      'throughput:messages and bytes per second of the tutorial’s techniques'
      'rsocket:rsockets beside TCP of the kernel\: TCP_RR and TCP_STREAM'
      'node:latency and losses of node-types of the gateway'
      'collective:one to many and many to one, by transport, operation, size and processes'
      )
      _describe command commands ;;
    argument)
      case $line[1] in
        latency) _verbena_bench_latency ;;
        throughput) _verbena_bench_throughput ;;
        rsocket) _verbena_bench_rsocket ;;
        node) _verbena_bench_node ;;
        collective) _verbena_bench_collective ;;
      esac ;;
  esac
}

_verbena_bench_latency() {
  _arguments -s \
    '(-d --device)'{-d,--device}'[sending and receiving adapter; a single one is paired with its neighbour]:names:_verbena_devices' \
    --service'[service type\: RC, UC, UD]:types:_values -s , value RC UC UD' \
    --op'[operation\: send-imm, write-imm (UD has only send-imm)]:operations:_values -s , value send-imm write-imm' \
    --size'[message size\: 8, 16, 32, … 32768 (UD up to the MTU)]:bytes:' \
    --poll'[how the receiver waits\: busy, event]:modes:_values -s , value busy event' \
    --poll-comp'[how the sender waits for completions\: busy, event]:modes:_values -s , value busy event' \
    --inline'[copy the payload into the work request when it is posted]::on|off:_values -s , value on off' \
    --unsignaled'[no completions for sends, but the few that drain the send queue\: no t_comp]::on|off:_values -s , value on off' \
    --burst'[messages of one test\: 1 to 8192]:messages:' \
    --pause'[nanoseconds between posts; 0 posts as fast as it goes]:ns:' \
    --stamp'[what the payload tells\: submit (when it was posted), send (when the adapter read it)]:moments:_values -s , value submit send' \
    --engine'[what executes requests\: poster (the posting thread), thread (one that plays the adapter)]:engines:_values -s , value poster thread' \
    --pin'[cores of the sender, receiver, engine and stamping thread]:cores:_values -s , value auto' \
    --repeat'[measure every combination so many times]:times:' \
    --seed'[for the payload behind the stamp and the order of the sets]:number:' \
    --warmup'[messages before each burst that are not counted]:messages:' \
    --out'[where results are kept]:dir:_files -/' \
    --json'[print one JSON document on stdout and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_bench_throughput() {
  _arguments -s \
    '(-d --device)'{-d,--device}'[client'\''s and server'\''s adapter; a single one is paired with its neighbour]:names:_verbena_devices' \
    --technique'[technique\: send-recv, write, write-unsignaled, write-inline, write-batch, srq, write-imm]:names:_values -s , value send-recv write write-unsignaled write-inline write-batch srq write-imm' \
    --service'[service type\: RC, UC, UD (UD has only send-recv)]:types:_values -s , value RC UC UD' \
    --concurrent'[messages outstanding\: 1 to 4096]:messages:' \
    --batch'[linked work requests of one post, for write-batch]:requests:' \
    --size'[message size\: 1 to 1048576]:bytes:' \
    --qps'[queue pairs at each end, for srq and write-imm]:pairs:' \
    --engine'[what executes requests\: poster (the posting thread), thread (one that plays the adapter)]:engines:_values -s , value poster thread' \
    --pin'[cores of the client, the server and their engine threads]:cores:_values -s , value auto' \
    --seconds'[time of each measurement]:time:' \
    --messages'[end a measurement after so many messages]:number:' \
    --warmup'[messages before each measurement that are not counted]:messages:' \
    --repeat'[measure every combination so many times]:times:' \
    --seed'[for the order of the sets]:number:' \
    --out'[where results are kept]:dir:_files -/' \
    --json'[print one JSON document on stdout and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_bench_rsocket() {
  _arguments -s \
    --test'[test\: rr (TCP_RR), stream (TCP_STREAM)]:tests:_values -s , value rr stream' \
    --transport'[what the sockets are\: rsocket, tcp (of the kernel, on loopback)]:transports:_values -s , value rsocket tcp' \
    '(-d --device)'{-d,--device}'[rsockets\: the client'\''s and the server'\''s adapter; a single one is paired with its neighbour]:names:_verbena_devices' \
    --size'[message size\: 1 to 16777216]:bytes:' \
    --poll'[waiting\: event (sleep, as netperf and librdmacm do) or busy (poll without end)]:modes:_values -s , value busy event' \
    --buffer'[send and receive buffer of both kinds of sockets; 0 leaves each its own]:bytes:' \
    --extensions'[rsockets\: what two Verbena ends do better than version 1; off\: as with a peer of librdmacm]::on|off:_values -s , value on off' \
    --direct'[rsockets\: send from memory of the adapter, which is not copied first (blocking sends of 4 KiB or more)]::on|off:_values -s , value on off' \
    --pin'[cores of the client and the server]:cores:_values -s , value auto' \
    --seconds'[time of each measurement]:time:' \
    --warmup'[time before each measurement that is not counted]:seconds:' \
    --repeat'[measure every combination so many times]:times:' \
    --seed'[for the order of the sets]:number:' \
    --profile'[also sample where the time goes]::sizes:' \
    --out'[where results are kept]:dir:_files -/' \
    --json'[print one JSON document on stdout and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_bench_node() {
  _arguments -s \
    --node'[node-types\: loopback, infiniband, shmem, socket, websocket, zeromq]:types:' \
    --mode'[modes of the types]:modes:' \
    --values'[values of a sample]:counts:' \
    --rate'[samples per second]:hz:' \
    --timer'[how the generator waits\: hybrid, tsc, timerfd]:names:' \
    '(-d --device)'{-d,--device}'[verbs devices of infiniband\: shm (one for this run), roce, or any other name]:names:_verbena_devices' \
    --max-inline-data'[of infiniband\: samples of fewer bytes are sent inline; 0\: none]:bytes:' \
    --periodic-signaling'[of infiniband\: every so many-th inline send is signaled instead]:requests:' \
    --buffer-subtraction'[of infiniband\: how many receives of 4096 are not posted]:requests:' \
    --processes'[generator and receiver in two processes (default, where memory can be shared)]' \
    --threads'[generator and receiver in two threads]' \
    --limit'[samples of each run]:samples:' \
    --warmup'[samples at 10 kHz before each run]:samples:' \
    --repeat'[measure every combination so many times]:times:' \
    --pin'[cores of generator and receiver\: auto, none, or two numbers]:cores:_values -s , value auto none' \
    --out'[where results are kept]:dir:_files -/' \
    --json'[print one JSON document on stdout and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_bench_collective() {
  _arguments -s \
    '(-d --device)'{-d,--device}'[adapters\: shm\:NAME, roce\:ADDRESS, …; %r stands for the rank + 1]:names:_verbena_devices' \
    --transport'[TRANSPORT\: RC, UC, UD, multicast]:names:' \
    --mode'[MODE\: SEND, WRITE, WRITE_IMM, READ]:names:' \
    --measure'[MEASURE\: what is timed (below)]:names:' \
    --size'[message sizes]:bytes:' \
    --processes'[numbers of remote processes]:counts:' \
    --repetitions'[REPETITIONS\: of each step]:counts:' \
    --max-posts'[MAXPOSTS\: scenario 1 sends 1 to so many messages in a step; a list\: exactly so many]:counts:' \
    --memsize'[MEMSIZE\: the last of the sizes, where --size names none]:bytes:' \
    --warmup'[repetitions before those that count; 50 times as many before the first set]:times:' \
    --lost-after'[a message of UC, UD or multicast is lost when it has not come for so long]:ms:' \
    --procs'[start so many ranks on this host]:n:' \
    --rank'[which rank this process is]:r:' \
    --ranks'[how many ranks there are]:n:' \
    --meet'[where rank 0 is]:host\:port:' \
    --timeout'[until all ranks are there, and for what must come]:seconds:' \
    --pin'[auto\: a core for each rank, if there are enough; none]:how:' \
    --out'[where rank 0 keeps the results]:dir:_files -/' \
    --json'[rank 0 prints one JSON document on stdout and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_collective() {
  local state line
  _arguments -C \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=(
      'measure:how long each algorithm takes, by size and number of ranks'
      'tune:make a table that chooses, from such results'
      )
      _describe command commands ;;
    argument)
      case $line[1] in
        measure) _verbena_collective_measure ;;
        tune) _verbena_collective_tune ;;
      esac ;;
  esac
}

_verbena_collective_measure() {
  _arguments -s \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    --collective'[collectives]:names:' \
    --size'[of a broadcast or a reduction all, else what one rank has for one other]:bytes:' \
    --among'[how many of the ranks take part]:counts:' \
    --repetitions'[timed calls of each set]:times:' \
    --procs'[start so many ranks on this host]:n:' \
    --rank'[which rank this process is]:r:' \
    --ranks'[how many ranks there are]:n:' \
    --meet'[where rank 0 is]:host\:port:' \
    --timeout'[until all ranks are there, and for what must come]:seconds:' \
    --pin'[auto\: a core for each rank, if there are enough; none]:how:' \
    --out'[where rank 0 keeps the results]:dir:_files -/' \
    --json'[rank 0 prints one JSON document on stdout and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_collective_tune() {
  _arguments -s \
    '(-o --output)'{-o,--output}'[where the table goes]:file:_files' \
    --json'[print what changes as one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '*:results:'
}

_verbena_report() {
  _arguments -s \
    --out'[where the report goes]:dir:_files -/' \
    --over'[the setting on the horizontal axis of the median chart]:setting:' \
    --range'[upper limit of the histograms]:ns:' \
    --title'[title of the page]:text:' \
    --open'[open it in the browser]::yes|no:_values -s , value yes no' \
    --json'[print the paths of the files as one JSON document]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '*:dirs:_files -/'
}

_verbena_trace() {
  local state line
  _arguments -C \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=(
      'check:ICRC, lengths and headers of every packet'
      'show:a line for each packet, with what it means in its connection'
      'info:the conversations\: messages, losses, NAKs, latencies'
      'page:a page that does all of this in the browser, with a capture in it or without'
      'convert:write the packets, or some of them, in another format'
      )
      _describe command commands ;;
    argument)
      case $line[1] in
        check) _verbena_trace_check ;;
        show) _verbena_trace_show ;;
        info) _verbena_trace_info ;;
        page) _verbena_trace_page ;;
        convert) _verbena_trace_convert ;;
      esac ;;
  esac
}

_verbena_trace_check() {
  _arguments -s \
    '(-d --decode-as)'{-d,--decode-as}'[what another UDP port carries\: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated]:port=what:' \
    --roce-port'[another UDP port of RoCEv2, as --decode-as PORT=roce]:port:' \
    --no-icrc'[leave the ICRC out\: lengths and headers only]' \
    --json'[print one JSON document]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '*:file:_files'
}

_verbena_trace_show() {
  _arguments -s \
    '(-d --decode-as)'{-d,--decode-as}'[what another UDP port carries\: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated]:port=what:' \
    --roce-port'[another UDP port of RoCEv2, as --decode-as PORT=roce]:port:' \
    '(-f --filter)'{-f,--filter}'[only packets for which this is true]:expr:' \
    '(-n --limit)'{-n,--limit}'[end after so many packets]:count:' \
    '(-t --time)'{-t,--time}'[when packets were captured, as below]:format:' \
    '(-V --verbose)'{-V,--verbose}'[show every header field by field, with what the analysis says]' \
    '(-x --hex)'{-x,--hex}'[show the bytes of each packet]' \
    --json'[print a JSON object for each packet, one on each line]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:file:_files'
}

_verbena_trace_info() {
  _arguments -s \
    '(-d --decode-as)'{-d,--decode-as}'[what another UDP port carries\: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated]:port=what:' \
    --roce-port'[another UDP port of RoCEv2, as --decode-as PORT=roce]:port:' \
    --top'[show so many conversations, those with most packets first]:count:' \
    --json'[print one JSON document, with all conversations]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:file:_files'
}

_verbena_trace_page() {
  _arguments -s \
    '(-o --out)'{-o,--out}'[the page to write; - for standard output]:file:_files' \
    --open'[open it in the browser]::yes|no:_values -s , value yes no' \
    --json'[print the path of the page as one JSON document]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '*:files:'
}

_verbena_trace_convert() {
  _arguments -s \
    '(-d --decode-as)'{-d,--decode-as}'[what another UDP port carries\: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated]:port=what:' \
    --roce-port'[another UDP port of RoCEv2, as --decode-as PORT=roce]:port:' \
    --format'[format of the output]:name:_values -s , value pcap pcapng' \
    --micro'[pcap with microseconds instead of nanoseconds, for old readers]' \
    '(-f --filter)'{-f,--filter}'[only packets for which this is true\: see verbena trace show --help]:expr:' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:in:_files' \
    '2:out:_files'
}

_verbena_traffic() {
  local state line
  _arguments -C \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=(
      'server:answer requests with flows of the size that they ask for'
      'client:send the requests of a configuration to its servers'
      'merge:make one result of those of several clients'
      'fit:write a configuration that generates traffic like that of a capture'
      'cdf:draw a distribution of sizes, or list those that have names'
      )
      _describe command commands ;;
    argument)
      case $line[1] in
        server) _verbena_traffic_server ;;
        client) _verbena_traffic_client ;;
        merge) _verbena_traffic_merge ;;
        fit) _verbena_traffic_fit ;;
        cdf) _verbena_traffic_cdf ;;
      esac ;;
  esac
}

_verbena_traffic_server() {
  _arguments -s \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-x --gid-index)'{-x,--gid-index}'[GID of the port]:index:' \
    '(-i --ib-port)'{-i,--ib-port}'[port of the adapter]:port:' \
    '(-p --port)'{-p,--port}'[TCP port]:port:' \
    --source'[own address to listen on]:address:' \
    --once'[end after one client]' \
    --json'[print one JSON document for each client that has ended, on a line]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_traffic_client() {
  _arguments -s \
    --dry-run'[write the schedule and send nothing]' \
    --pcap'[write the packets that would travel, and send nothing]:file:_files' \
    --rocev1'[with --pcap\: packets of RoCEv1 (Ethertype 0x8915) instead of RoCEv2]' \
    --seed'[another seed]:number:' \
    --count'[end after so many requests]:number:' \
    --duration'[end after this time]:seconds:' \
    --load'[another share of the bandwidth, in all phases]:share:' \
    --bandwidth'[what a load of 1 is, such as 25Gbps]:rate:' \
    --client'[which of several clients this is]:index:' \
    '(-i --ib-port)'{-i,--ib-port}'[port of the adapter]:port:' \
    '(-R --rdma_cm)'{-R,--rdma_cm}'[let the RDMA CM connect the queue pairs]' \
    --wait'[retry for this long while a server does not listen]:seconds:' \
    --out'[where results are kept]:dir:_files -/' \
    --json'[print one JSON document and nothing else]' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-x --gid-index)'{-x,--gid-index}'[GID of the port]:index:' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:config:'
}

_verbena_traffic_merge() {
  _arguments -s \
    --out'[where the merged results go]:dir:_files -/' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '*:dirs:_files -/'
}

_verbena_traffic_fit() {
  _arguments -s \
    '(-d --decode-as)'{-d,--decode-as}'[what another UDP port carries\: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated]:port=what:' \
    --roce-port'[another UDP port of RoCEv2, as --decode-as PORT=roce]:port:' \
    '(-o --out)'{-o,--out}'[the configuration]:file:_files' \
    --all'[a configuration for each host that sends, as DIR/ADDRESS.yaml]:dir:_files -/' \
    --client'[the host whose messages count]:address:' \
    --server'[host or host\:port in the place of those captured, may be repeated]:host:' \
    --scale'[times as many requests per second]:factor:' \
    --json'[print the fit as one JSON document, and no configuration]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:trace:'
}

_verbena_traffic_cdf() {
  _arguments -s \
    --interpolation'[between rows]:rule:_values -s , value linear log inverse' \
    --unit'[what 1 in the column of sizes of a file stands for, such as 1460]:bytes:' \
    --json'[print one JSON document]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::name:'
}

_verbena_collect() {
  local state line
  _arguments -C \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=(
      'counters:counters of all RDMA devices in one vocabulary, with rates'
      'l2:interfaces that carry RoCE\: MTU, PFC, DSCP, ECN, GIDs, with findings'
      'trace:RoCE packets of interfaces into pcap or pcapng files'
      'session:all of it in a folder; collect --out DIR is the same'
      )
      _describe command commands ;;
    argument)
      case $line[1] in
        counters) _verbena_collect_counters ;;
        l2) _verbena_collect_l2 ;;
        trace) _verbena_collect_trace ;;
        session) _verbena_collect_session ;;
      esac ;;
  esac
}

_verbena_collect_counters() {
  _arguments -s \
    --sysfs-root'[read a recorded tree instead\: a copy of /sys, or a folder with sys and proc]:dir:_files -/' \
    '(-d --device)'{-d,--device}'[only these devices, with commas between them]:names:_verbena_devices' \
    --ib-port'[only these ports, with commas between them]:ports:' \
    --interval'[read again after so many seconds]:seconds:' \
    --count'[end after so many readings]:count:' \
    --qp'[counters of queue pairs, too, where the kernel has them\: in the table and in JSON]' \
    --all'[counters that are zero, too]' \
    --json'[print JSON]' \
    --csv'[print comma-separated values]' \
    --prometheus'[print the text that Prometheus reads]' \
    --listen'[serve that text at /metrics of this port of 127.0.0.1, or of another address]::\[host\::' \
    --token-file'[what whoever asks at --listen must know]:file:_files' \
    --no-token'[with --listen\: everybody who reaches the address may read the counters]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_collect_l2() {
  _arguments -s \
    --sysfs-root'[read a recorded tree instead\: a copy of /sys, or a folder with sys and proc]:dir:_files -/' \
    --json'[print one JSON document]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '*:names:'
}

_verbena_collect_trace() {
  _arguments -s \
    '(-i --interface)'{-i,--interface}'[interfaces, with commas between them, or any]:names:' \
    --filter'[roce, v1, v2, or all packets]:what:_values -s , value roce v1 v2 all' \
    --roce-port'[UDP ports of RoCEv2, with commas between them]:ports:' \
    '(-s --snap-length)'{-s,--snap-length}'[bytes of each packet that are kept]:bytes:' \
    --headers'[headers only, and management datagrams]' \
    --anonymise'[map addresses and keys, without payload]' \
    --anonymise-key'[the same, with the contents of this file as the key]:file:_files' \
    --rotate-size'[begin another file after so many million bytes]:MB:' \
    --rotate-time'[begin another file after so long]:seconds:' \
    --rotate-files'[delete the oldest file when there are more]:count:' \
    --buffer'[room for packets that have not been written yet, of each interface]:MiB:' \
    --no-promiscuous'[no frames for other hosts]' \
    '(-r --read)'{-r,--read}'[a capture to read instead; - for standard input]:file:_files' \
    '(-w --write)'{-w,--write}'[the file to write; - for standard output]:file:_files' \
    '(-c --count)'{-c,--count}'[end after so many packets]:packets:' \
    --duration'[end after so long]:seconds:' \
    --json'[print what was captured as one JSON document]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '*:command:'
}

_verbena_collect_session() {
  _arguments -s \
    '(-i --interface)'{-i,--interface}'[interfaces, with commas between them, or any]:names:' \
    --filter'[roce, v1, v2, or all packets]:what:_values -s , value roce v1 v2 all' \
    --roce-port'[UDP ports of RoCEv2, with commas between them]:ports:' \
    '(-s --snap-length)'{-s,--snap-length}'[bytes of each packet that are kept]:bytes:' \
    --headers'[headers only, and management datagrams]' \
    --anonymise'[map addresses and keys, without payload]' \
    --anonymise-key'[the same, with the contents of this file as the key]:file:_files' \
    --rotate-size'[begin another file after so many million bytes]:MB:' \
    --rotate-time'[begin another file after so long]:seconds:' \
    --rotate-files'[delete the oldest file when there are more]:count:' \
    --buffer'[room for packets that have not been written yet, of each interface]:MiB:' \
    --no-promiscuous'[no frames for other hosts]' \
    --sysfs-root'[read a recorded tree instead\: a copy of /sys, or a folder with sys and proc]:dir:_files -/' \
    '(-o --out)'{-o,--out}'[the folder, which is made]:dir:_files -/' \
    --interval'[time between readings of the counters]:seconds:' \
    --duration'[end after so long]:seconds:' \
    --compress'[compression of the trace]:how:_values -s , value none gzip zstd' \
    --no-trace'[no packets]' \
    --json'[print what was collected as one JSON document]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_monitor() {
  local state line
  _arguments -C \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=(
      'collector:windows of many agents together, over HTTP or HTTPS'
      'compare:exact counting beside the sketches\: the errors, and whether bounds hold'
      'report:a report of saved windows'
      'watch:windows of packets from interfaces, files or standard input; monitor FILE is the same'
      )
      _describe command commands ;;
    argument)
      case $line[1] in
        collector) _verbena_monitor_collector ;;
        compare) _verbena_monitor_compare ;;
        report) _verbena_monitor_report ;;
        watch) _verbena_monitor_watch ;;
      esac ;;
  esac
}

_verbena_monitor_collector() {
  _arguments -s \
    --window'[length of a window]:seconds:' \
    --memory'[memory for all that grows with traffic]:MiB:' \
    --page'[serve a live page\: a port of loopback, or address\:port]::address:' \
    --page-token-file'[what whoever opens the page must know]:file:_files' \
    --page-no-token'[dangerous\: every user of this host may open the page, on loopback only]' \
    --page-tls-key'[private key of the page, PEM]:file:_files' \
    --page-tls-cert'[certificate of the page, PEM]:file:_files' \
    --by'[a key to list; may be repeated]:key:' \
    --of'[what is summed\: bytes, packets, messages, or an event]:measure:' \
    --top'[rows of each list]:count:' \
    --json'[print one JSON document for each window, a line each]' \
    --view'[lines, or a screen as of top]:how:_values -s , value lines top' \
    --save'[add each window to this file, for monitor report]:file:_files' \
    --alert'[say when a number is past a threshold; may be repeated]:rule:' \
    --alert-log'[add alerts to this file as JSON lines]:file:_files' \
    --alert-webhook'[POST each alert there as JSON]:url:' \
    --alertmanager'[POST alerts there as Prometheus'\'' Alertmanager takes them]:url:' \
    --listen'[a port of loopback, or address\:port]:address:' \
    --token-file'[what agents must know]:file:_files' \
    --tls-key'[private key, PEM]:file:_files' \
    --tls-cert'[certificate, PEM]:file:_files' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_monitor_compare() {
  _arguments -s \
    '(-d --decode-as)'{-d,--decode-as}'[what another UDP port carries\: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated]:port=what:' \
    --roce-port'[another UDP port of RoCEv2, as --decode-as PORT=roce]:port:' \
    --window'[length of a window]:seconds:' \
    --memory'[memory for all that grows with traffic]:MiB:' \
    --by'[a key to compare; may be repeated]:key:' \
    --of'[what is summed\: bytes, packets, messages, or an event]:measure:' \
    --threshold'[of the sum of all keys, from which a key is a heavy hitter]:percent:' \
    --top'[how many of the largest keys are compared]:count:' \
    --exact-memory'[memory for exact counting, at most]:MiB:' \
    --seed'[of the sketches, for a result that can be repeated]:number:' \
    --merge'[compare the files together, as those of agents of a collector]' \
    --json'[print one JSON document for each file, a line each]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '*:files:'
}

_verbena_monitor_report() {
  _arguments -s \
    --page'[serve a live page\: a port of loopback, or address\:port]::address:' \
    --page-token-file'[what whoever opens the page must know]:file:_files' \
    --page-no-token'[dangerous\: every user of this host may open the page, on loopback only]' \
    --page-tls-key'[private key of the page, PEM]:file:_files' \
    --page-tls-cert'[certificate of the page, PEM]:file:_files' \
    --by'[a key to list; may be repeated]:key:' \
    --of'[what is summed\: bytes, packets, messages, or an event]:measure:' \
    --top'[rows of each list]:count:' \
    --json'[print one JSON document for each window, a line each]' \
    --per'[a report for each time of this length]:seconds:' \
    --from'[leave out windows before that, ISO 8601]:time:' \
    --to'[leave out windows from then on]:time:' \
    '(-h --help)'{-h,--help}'[print help]' \
    '*:files:'
}

_verbena_monitor_watch() {
  _arguments -s \
    '(-d --decode-as)'{-d,--decode-as}'[what another UDP port carries\: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated]:port=what:' \
    --roce-port'[another UDP port of RoCEv2, as --decode-as PORT=roce]:port:' \
    --window'[length of a window]:seconds:' \
    --memory'[memory for all that grows with traffic]:MiB:' \
    --page'[serve a live page\: a port of loopback, or address\:port]::address:' \
    --page-token-file'[what whoever opens the page must know]:file:_files' \
    --page-no-token'[dangerous\: every user of this host may open the page, on loopback only]' \
    --page-tls-key'[private key of the page, PEM]:file:_files' \
    --page-tls-cert'[certificate of the page, PEM]:file:_files' \
    --by'[a key to list; may be repeated]:key:' \
    --of'[what is summed\: bytes, packets, messages, or an event]:measure:' \
    --top'[rows of each list]:count:' \
    --json'[print one JSON document for each window, a line each]' \
    --view'[lines, or a screen as of top]:how:_values -s , value lines top' \
    --save'[add each window to this file, for monitor report]:file:_files' \
    --alert'[say when a number is past a threshold; may be repeated]:rule:' \
    --alert-log'[add alerts to this file as JSON lines]:file:_files' \
    --alert-webhook'[POST each alert there as JSON]:url:' \
    --alertmanager'[POST alerts there as Prometheus'\'' Alertmanager takes them]:url:' \
    --collector'[send windows to a collector, and print none]:url:' \
    --token-file'[the collector'\''s token]:file:_files' \
    --ca'[certificate of the collector'\''s authority, PEM]:file:_files' \
    --name'[how the collector calls this agent]:name:' \
    '(-i --interface)'{-i,--interface}'[interfaces of this host, with commas between them, or any]:names:' \
    --tap'[watch the roce devices of a command, which is behind --]' \
    --duration'[end after so long]:seconds:' \
    --metrics'[serve metrics for Prometheus at /metrics of this port of 127.0.0.1]::\[host\::' \
    --metrics-token-file'[what Prometheus must know]:file:_files' \
    --metrics-no-token'[everybody who reaches the address may read the metrics]' \
    --workers'[threads for each file, each for some pairs of hosts]:count:' \
    '(-h --help)'{-h,--help}'[print help]' \
    '*:files:'
}

_verbena_replay() {
  local state line
  _arguments -C \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=(
      'packets:the packets, with other addresses, queue pairs, keys, PSNs'
      'messages:the messages\: operation, size, time, what each waited for'
      'server:the other end of a replay of messages'
      'client:perform the messages with queue pairs, and compare'
      )
      _describe command commands ;;
    argument)
      case $line[1] in
        packets) _verbena_replay_packets ;;
        messages) _verbena_replay_messages ;;
        server) _verbena_replay_server ;;
        client) _verbena_replay_client ;;
      esac ;;
  esac
}

_verbena_replay_packets() {
  _arguments -s \
    '(-d --decode-as)'{-d,--decode-as}'[what another UDP port carries\: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated]:port=what:' \
    --roce-port'[another UDP port of RoCEv2, as --decode-as PORT=roce]:port:' \
    --to'[a capture\: .pcap or .pcapng, compressed if .gz follows; - for standard output]:file:_files' \
    '(-i --interface)'{-i,--interface}'[a network interface of this host]:name:' \
    --udp'[datagrams to a host; port 4791 unless given]::host\[\:port:' \
    --mac'[Ethernet address of the frame]:old=new:' \
    --ip'[IPv4 or IPv6 address or network, also in GIDs and messages of the CM]:old=new:' \
    --lid'[LID of native InfiniBand]:old=new:' \
    --source-port'[UDP source port]::\[old=:' \
    --destination-port'[UDP destination port]::\[old=:' \
    --dscp'[DSCP of the IP header or GRH]::\[old=:' \
    --ecn'[ECN bits of it, 0 to 3]::\[old=:' \
    --pkey'[P_Key]::\[old=:' \
    --qpn'[queue pair, of that host only]::old\[@host:' \
    --psn'[PSNs of requests to that queue pair and of their responses, or all; +n or -n]::\[qp\[@host:' \
    --msn'[MSNs of responses to that queue pair, or all]::\[qp\[@host:' \
    --rkey'[key of remote memory]::old\[@host:' \
    --va'[virtual addresses from first to last]::first\[-last:' \
    --map'[mappings in a file, one a line\: qpn 0x11=0x200]:file:_files' \
    '(-f --filter)'{-f,--filter}'[only packets for which this is true\: see verbena trace show --help]:expr:' \
    --bad'[damaged packets\: keep, drop, mend]:what:_values -s , value keep drop mend' \
    --others'[packets that are no RDMA, too; only --mac changes them]' \
    --speed'[of the captured time\: 2x is twice as fast, top as fast as it goes]:factor:' \
    --pps'[packets per second, whatever their times are\: 100k]:number:' \
    --rate'[bits per second of whole frames\: 10G]:bits:' \
    --json'[print one JSON document]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:file:_files'
}

_verbena_replay_messages() {
  _arguments -s \
    '(-d --decode-as)'{-d,--decode-as}'[what another UDP port carries\: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated]:port=what:' \
    --roce-port'[another UDP port of RoCEv2, as --decode-as PORT=roce]:port:' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:file:_files'
}

_verbena_replay_server() {
  _arguments -s \
    '(-p --port)'{-p,--port}'[TCP port on which the ends meet]:port:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-x --gid-index)'{-x,--gid-index}'[GID of the port]:index:' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_replay_client() {
  _arguments -s \
    --decode-as'[what another UDP port carries\: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated]:port=what:' \
    --roce-port'[another UDP port of RoCEv2, as --decode-as PORT=roce]:port:' \
    --mode'[closed or open loop]:mode:_values -s , value closed open' \
    --speed'[of the captured time\: 2x is twice as fast, top without pauses]:factor:' \
    --depth'[outstanding requests of a queue pair]:number:' \
    '(-p --port)'{-p,--port}'[TCP port on which the ends meet]:port:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-x --gid-index)'{-x,--gid-index}'[GID of the port]:index:' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:trace:' \
    '*:servers:'
}

_verbena_run() {
  _arguments -s \
    '(-d --device)'{-d,--device}'[adapter\: shm\:NAME in shared memory, roce\:ADDRESS or roce on the network; several times\: several]:dev:_verbena_devices' \
    --name'[as the program sees it; several times\: for several]:name:' \
    --faults'[lose, double, delay, reorder or damage packets\: loss=3%,reordering=1%,delay=2ms]:rates:' \
    --tap'[write packets to this file\: pcapng, or pcap by its ending; %p is the process id]:file:_files' \
    --explain'[say on standard error why a verb, an event of the RDMA CM or a management datagram failed, once for each program]' \
    --trace'[write each command, work request, completion, event and datagram; a file by = alone\: --trace=FILE]::file:_files' \
    --counters'[say at the end on standard error what programs and adapters have counted]' \
    --json'[write the trace and the counters as JSON, an object a line]' \
    --strict'[stop at doorbells, so that ibv_post_send has the kernel'\''s errors; and for libibverbs before rdma-core 22]' \
    --verbose'[say on standard error what programs open, and which calls fail]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:program:' \
    '*:args:'
}

_verbena_gateway() {
  local state line
  _arguments -C \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=(
      'convert:samples from one format to another'
      'compare:files of samples with each other'
      'hook:samples through a hook'
      'node:run the nodes and paths of a configuration'
      'pipe:standard input to a node, and the node to standard output'
      'signal:generate samples'
      'check:whether a configuration is right'
      'graph:draw the nodes and paths of a configuration'
      )
      _describe command commands ;;
    argument)
      case $line[1] in
        convert) _verbena_gateway_convert ;;
        compare) _verbena_gateway_compare ;;
        hook) _verbena_gateway_hook ;;
        node) _verbena_gateway_node ;;
        pipe) _verbena_gateway_pipe ;;
        signal) _verbena_gateway_signal ;;
        check) _verbena_gateway_check ;;
        graph) _verbena_gateway_graph ;;
      esac ;;
  esac
}

_verbena_gateway_convert() {
  _arguments -s \
    '(-d --log)'{-d,--log}'[least important lines that are said\: trace, debug, info, warning, error, critical, off]:level:' \
    '(-V --version)'{-V,--version}'[print the version]' \
    '(-i --input-format)'{-i,--input-format}'[of standard input]:format:' \
    '(-o --output-format)'{-o,--output-format}'[of standard output]:format:' \
    '(-t --types)'{-t,--types}'[number and types of the values]:types:' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_gateway_compare() {
  _arguments -s \
    '(-d --log)'{-d,--log}'[least important lines that are said\: trace, debug, info, warning, error, critical, off]:level:' \
    '(-V --version)'{-V,--version}'[print the version]' \
    '(-e --epsilon)'{-e,--epsilon}'[values and seconds may differ by as much]:number:' \
    '(-v --no-values)'{-v,--no-values}'[leave values out]' \
    '(-T --no-timestamp)'{-T,--no-timestamp}'[leave times out]' \
    '(-s --no-sequence)'{-s,--no-sequence}'[leave sequence numbers out]' \
    '(-f --format)'{-f,--format}'[of all files]:format:' \
    '(-t --types)'{-t,--types}'[number and types of the values]:types:' \
    --json'[print one JSON document]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '*:files:'
}

_verbena_gateway_hook() {
  _arguments -s \
    '(-d --log)'{-d,--log}'[least important lines that are said\: trace, debug, info, warning, error, critical, off]:level:' \
    '(-V --version)'{-V,--version}'[print the version]' \
    '(-c --config)'{-c,--config}'[settings of the hook, as JSON]:file:_files' \
    '(-f --input-format)'{-f,--input-format}'[of standard input]:format:' \
    '(-F --output-format)'{-F,--output-format}'[of standard output]:format:' \
    '(-t --types)'{-t,--types}'[number and types of the values]:types:' \
    '(-v --vectorize)'{-v,--vectorize}'[samples that are read at once]:count:' \
    '(-o --option)'{-o,--option}'[a setting of the hook]:key=value:' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:name:'
}

_verbena_gateway_node() {
  _arguments -s \
    '(-d --log)'{-d,--log}'[least important lines that are said\: trace, debug, info, warning, error, critical, off]:level:' \
    '(-V --version)'{-V,--version}'[print the version]' \
    '(-C --capabilities)'{-C,--capabilities}'[print node-types, hooks, formats and requests of the API as JSON; nothing runs]' \
    --duration'[stop after this time]:seconds:' \
    --no-token'[dangerous\: whoever reaches the API may do everything]' \
    --json'[print one JSON document at the end]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::config:'
}

_verbena_gateway_pipe() {
  _arguments -s \
    '(-d --log-level)'{-d,--log-level}'[least important lines that are said\: trace, debug, info, warning, error, critical, off]:level:' \
    '(-V --version)'{-V,--version}'[print the version]' \
    '(-f --format)'{-f,--format}'[of standard input and output]:format:' \
    '(-t --types)'{-t,--types}'[number and types of the values of standard input]:types:' \
    '(-o --option)'{-o,--option}'[a setting of the node]:key=value:' \
    '(-x --swap)'{-x,--swap}'[swap the settings in and out of the node]' \
    '(-s --send)'{-s,--send}'[only from standard input to the node]' \
    '(-r --receive)'{-r,--receive}'[only from the node to standard output]' \
    '(-T --timeout)'{-T,--timeout}'[stop after this time]:seconds:' \
    '(-L --limit-send)'{-L,--limit-send}'[stop after as many samples sent]:count:' \
    '(-l --limit-receive)'{-l,--limit-receive}'[stop after as many samples received]:count:' \
    --no-token'[dangerous\: whoever reaches the API of a websocket server may do everything]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:config:' \
    '2:node:'
}

_verbena_gateway_signal() {
  _arguments -s \
    '(-d --log)'{-d,--log}'[least important lines that are said\: trace, debug, info, warning, error, critical, off]:level:' \
    '(-V --version)'{-V,--version}'[print the version]' \
    '(-v --values)'{-v,--values}'[values of a sample]:count:' \
    '(-r --rate)'{-r,--rate}'[samples per second]:hz:' \
    '(-n --no-realtime)'{-n,--no-realtime}'[as fast as they are taken]' \
    '(-F --frequency)'{-F,--frequency}'[of the shape]:hz:' \
    '(-a --amplitude)'{-a,--amplitude}'[of the shape]:number:' \
    '(-D --stddev)'{-D,--stddev}'[of the steps of random]:number:' \
    '(-o --offset)'{-o,--offset}'[added to all values]:number:' \
    '(-p --phase)'{-p,--phase}'[of the shape]:radians:' \
    '(-l --limit)'{-l,--limit}'[stop after as many samples, missed ones included]:count:' \
    '(-f --format)'{-f,--format}'[of standard output]:format:' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:type:'
}

_verbena_gateway_check() {
  _arguments -s \
    --json'[print one JSON document]' \
    '(-c --check)'{-c,--check}'[as for villas test-config\: it always checks everything]' \
    '(-D --dump)'{-D,--dump}'[as for villas test-config, which prints nothing for it either]' \
    '(-V --version)'{-V,--version}'[print the version]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:config:'
}

_verbena_gateway_graph() {
  _arguments -s \
    '(-f --format)'{-f,--format}'[text, svg, dot, json]:format:' \
    '(-o --output)'{-o,--output}'[where to write]:file:_files' \
    --json'[the same as --format json]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:config:'
}

_verbena_perf() {
  local state line
  _arguments -C \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=(
      'send_lat:half the round trip of SEND'
      'send_bw:bandwidth and message rate of SEND'
      'write_lat:half the round trip of RDMA WRITE'
      'write_bw:bandwidth and message rate of RDMA WRITE'
      'read_lat:time to completion of RDMA READ'
      'read_bw:bandwidth and message rate of RDMA READ'
      'atomic_lat:time to completion of atomics'
      'atomic_bw:bandwidth and message rate of atomics'
      )
      _describe command commands ;;
    argument)
      case $line[1] in
        send_lat) _verbena_perf_send_lat ;;
        send_bw) _verbena_perf_send_bw ;;
        write_lat) _verbena_perf_write_lat ;;
        write_bw) _verbena_perf_write_bw ;;
        read_lat) _verbena_perf_read_lat ;;
        read_bw) _verbena_perf_read_bw ;;
        atomic_lat) _verbena_perf_atomic_lat ;;
        atomic_bw) _verbena_perf_atomic_bw ;;
      esac ;;
  esac
}

_verbena_perf_send_lat() {
  _arguments -s \
    '(-i --ib-port)'{-i,--ib-port}'[port of the adapter]:port:' \
    '(-p --port)'{-p,--port}'[TCP port]:port:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-x --gid-index)'{-x,--gid-index}'[GID of the port]:index:' \
    '(-s --size)'{-s,--size}'[size of messages]:bytes:' \
    '(-a --all)'{-a,--all}'[sizes 2, 4, … 2^23]' \
    '(-n --iters)'{-n,--iters}'[messages]:number:' \
    '(-D --duration)'{-D,--duration}'[end the test after this time instead]:seconds:' \
    '(-f --margin)'{-f,--margin}'[with -D\: begin and end that are not measured]:seconds:' \
    --warmup'[messages before the measurement]:number:' \
    '(-t --tx-depth)'{-t,--tx-depth}'[send queue, used with --rate]:number:' \
    '(-r --rx-depth)'{-r,--rx-depth}'[receive queue]:number:' \
    '(-c --connection)'{-c,--connection}'[RC, UC or UD]:type:_values -s , value RC UC UD' \
    '(-m --mtu)'{-m,--mtu}'[path MTU]:bytes:' \
    '(-I --inline_size)'{-I,--inline_size}'[largest message that is inline]:bytes:' \
    '(-e --events)'{-e,--events}'[sleep until a completion makes an event]' \
    '(-y --limit_msgrate)'{-y,--limit_msgrate}'[fail below this rate, Mpps]:value:' \
    --limit-latency'[fail above\: min, avg, stdev, max, p10 to p99.999]:name=usec,…:' \
    --limit-lost'[fail if more messages are lost (UC, UD)]:number:' \
    '(-H --report-histogram)'{-H,--report-histogram}'[show every latency, sorted]' \
    '(-U --report-unsorted)'{-U,--report-unsorted}'[show every latency in the order of the messages]' \
    --output'[show only this figure of each size]:figure:_values -s , value bandwidth message_rate latency' \
    --rate'[open loop\: send at this rate, and count latency from the intended send time]:messages/s:' \
    '(-S --sl)'{-S,--sl}'[service level]:level:' \
    '(-u --qp-timeout)'{-u,--qp-timeout}'[ACK timeout of 4.096 µs · 2^exponent]:exponent:' \
    --retry_count'[retries of a packet that is not acknowledged, 0 to 7]:number:' \
    --perform_warm_up'[accepted as by perftest; there is always a warm-up, see --warmup]' \
    '(-F --CPU-freq)'{-F,--CPU-freq}'[accepted as by perftest; the CPU frequency is not looked at]' \
    '(-R --rdma_cm)'{-R,--rdma_cm}'[let the RDMA CM connect the queue pairs]' \
    --bind_source_ip'[own address of the TCP connection]:address:' \
    '(-V --version)'{-V,--version}'[print the version]' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::host:'
}

_verbena_perf_send_bw() {
  _arguments -s \
    '(-i --ib-port)'{-i,--ib-port}'[port of the adapter]:port:' \
    '(-p --port)'{-p,--port}'[TCP port]:port:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-x --gid-index)'{-x,--gid-index}'[GID of the port]:index:' \
    '(-s --size)'{-s,--size}'[size of messages]:bytes:' \
    '(-a --all)'{-a,--all}'[sizes 2, 4, … 2^23]' \
    '(-n --iters)'{-n,--iters}'[messages of each queue pair]:number:' \
    '(-D --duration)'{-D,--duration}'[end the test after this time instead]:seconds:' \
    '(-f --margin)'{-f,--margin}'[with -D\: begin and end that are not measured]:seconds:' \
    --warmup'[messages before the measurement]:number:' \
    '(-t --tx-depth)'{-t,--tx-depth}'[send queue]:number:' \
    '(-r --rx-depth)'{-r,--rx-depth}'[receive queue]:number:' \
    '(-c --connection)'{-c,--connection}'[RC, UC or UD]:type:_values -s , value RC UC UD' \
    '(-m --mtu)'{-m,--mtu}'[path MTU]:bytes:' \
    '(-I --inline_size)'{-I,--inline_size}'[largest message that is inline]:bytes:' \
    '(-e --events)'{-e,--events}'[sleep until a completion makes an event]' \
    '(-q --qp)'{-q,--qp}'[queue pairs]:number:' \
    '(-l --post_list)'{-l,--post_list}'[work requests that are posted together]:number:' \
    '(-b --bidirectional)'{-b,--bidirectional}'[both ends send; the columns are the sum]' \
    '(-Q --cq-mod)'{-Q,--cq-mod}'[one of so many requests makes a completion]:number:' \
    '(-N --noPeak)'{-N,--noPeak}'[show no peak]' \
    --report_gbits'[Gb/sec instead of MiB/sec]' \
    '(-w --limit_bw)'{-w,--limit_bw}'[fail below this average bandwidth, in the unit of the report]:value:' \
    '(-y --limit_msgrate)'{-y,--limit_msgrate}'[fail below this message rate, Mpps]:value:' \
    --output'[show only this figure of each size]:figure:_values -s , value bandwidth message_rate latency' \
    --rate'[each sender sends at this rate]:messages/s:' \
    --rate_limit'[the same in the unit of --rate_units]:rate:' \
    --rate_units'[of --rate_limit\: M (MiB/sec), g (Gb/sec) or p (messages/s)]:unit:' \
    '(-S --sl)'{-S,--sl}'[service level]:level:' \
    '(-u --qp-timeout)'{-u,--qp-timeout}'[ACK timeout of 4.096 µs · 2^exponent]:exponent:' \
    --retry_count'[retries of a packet that is not acknowledged, 0 to 7]:number:' \
    --perform_warm_up'[accepted as by perftest; there is always a warm-up, see --warmup]' \
    '(-F --CPU-freq)'{-F,--CPU-freq}'[accepted as by perftest; the CPU frequency is not looked at]' \
    '(-R --rdma_cm)'{-R,--rdma_cm}'[let the RDMA CM connect the queue pairs]' \
    --bind_source_ip'[own address of the TCP connection]:address:' \
    '(-V --version)'{-V,--version}'[print the version]' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::host:'
}

_verbena_perf_write_lat() {
  _arguments -s \
    '(-i --ib-port)'{-i,--ib-port}'[port of the adapter]:port:' \
    '(-p --port)'{-p,--port}'[TCP port]:port:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-x --gid-index)'{-x,--gid-index}'[GID of the port]:index:' \
    '(-s --size)'{-s,--size}'[size of messages]:bytes:' \
    '(-a --all)'{-a,--all}'[sizes 2, 4, … 2^23]' \
    '(-n --iters)'{-n,--iters}'[messages]:number:' \
    '(-D --duration)'{-D,--duration}'[end the test after this time instead]:seconds:' \
    '(-f --margin)'{-f,--margin}'[with -D\: begin and end that are not measured]:seconds:' \
    --warmup'[messages before the measurement]:number:' \
    '(-t --tx-depth)'{-t,--tx-depth}'[send queue, used with --rate]:number:' \
    '(-c --connection)'{-c,--connection}'[RC or UC]:type:_values -s , value RC UC' \
    '(-m --mtu)'{-m,--mtu}'[path MTU]:bytes:' \
    '(-I --inline_size)'{-I,--inline_size}'[largest message that is inline]:bytes:' \
    '(-y --limit_msgrate)'{-y,--limit_msgrate}'[fail below this rate, Mpps]:value:' \
    --limit-latency'[fail above\: min, avg, stdev, max, p10 to p99.999]:name=usec,…:' \
    --limit-lost'[fail if more messages are lost (UC, UD)]:number:' \
    '(-H --report-histogram)'{-H,--report-histogram}'[show every latency, sorted]' \
    '(-U --report-unsorted)'{-U,--report-unsorted}'[show every latency in the order of the messages]' \
    --output'[show only this figure of each size]:figure:_values -s , value bandwidth message_rate latency' \
    --rate'[open loop\: send at this rate, and count latency from the intended send time]:messages/s:' \
    '(-S --sl)'{-S,--sl}'[service level]:level:' \
    '(-u --qp-timeout)'{-u,--qp-timeout}'[ACK timeout of 4.096 µs · 2^exponent]:exponent:' \
    --retry_count'[retries of a packet that is not acknowledged, 0 to 7]:number:' \
    --perform_warm_up'[accepted as by perftest; there is always a warm-up, see --warmup]' \
    '(-F --CPU-freq)'{-F,--CPU-freq}'[accepted as by perftest; the CPU frequency is not looked at]' \
    '(-R --rdma_cm)'{-R,--rdma_cm}'[let the RDMA CM connect the queue pairs]' \
    --bind_source_ip'[own address of the TCP connection]:address:' \
    '(-V --version)'{-V,--version}'[print the version]' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::host:'
}

_verbena_perf_write_bw() {
  _arguments -s \
    '(-i --ib-port)'{-i,--ib-port}'[port of the adapter]:port:' \
    '(-p --port)'{-p,--port}'[TCP port]:port:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-x --gid-index)'{-x,--gid-index}'[GID of the port]:index:' \
    '(-s --size)'{-s,--size}'[size of messages]:bytes:' \
    '(-a --all)'{-a,--all}'[sizes 2, 4, … 2^23]' \
    '(-n --iters)'{-n,--iters}'[messages of each queue pair]:number:' \
    '(-D --duration)'{-D,--duration}'[end the test after this time instead]:seconds:' \
    '(-f --margin)'{-f,--margin}'[with -D\: begin and end that are not measured]:seconds:' \
    --warmup'[messages before the measurement]:number:' \
    '(-t --tx-depth)'{-t,--tx-depth}'[send queue]:number:' \
    '(-c --connection)'{-c,--connection}'[RC or UC]:type:_values -s , value RC UC' \
    '(-m --mtu)'{-m,--mtu}'[path MTU]:bytes:' \
    '(-I --inline_size)'{-I,--inline_size}'[largest message that is inline]:bytes:' \
    '(-e --events)'{-e,--events}'[sleep until a completion makes an event]' \
    '(-q --qp)'{-q,--qp}'[queue pairs]:number:' \
    '(-l --post_list)'{-l,--post_list}'[work requests that are posted together]:number:' \
    '(-b --bidirectional)'{-b,--bidirectional}'[both ends send; the columns are the sum]' \
    '(-Q --cq-mod)'{-Q,--cq-mod}'[one of so many requests makes a completion]:number:' \
    '(-N --noPeak)'{-N,--noPeak}'[show no peak]' \
    --report_gbits'[Gb/sec instead of MiB/sec]' \
    '(-w --limit_bw)'{-w,--limit_bw}'[fail below this average bandwidth, in the unit of the report]:value:' \
    '(-y --limit_msgrate)'{-y,--limit_msgrate}'[fail below this message rate, Mpps]:value:' \
    --output'[show only this figure of each size]:figure:_values -s , value bandwidth message_rate latency' \
    --rate'[each sender sends at this rate]:messages/s:' \
    --rate_limit'[the same in the unit of --rate_units]:rate:' \
    --rate_units'[of --rate_limit\: M (MiB/sec), g (Gb/sec) or p (messages/s)]:unit:' \
    '(-S --sl)'{-S,--sl}'[service level]:level:' \
    '(-u --qp-timeout)'{-u,--qp-timeout}'[ACK timeout of 4.096 µs · 2^exponent]:exponent:' \
    --retry_count'[retries of a packet that is not acknowledged, 0 to 7]:number:' \
    --perform_warm_up'[accepted as by perftest; there is always a warm-up, see --warmup]' \
    '(-F --CPU-freq)'{-F,--CPU-freq}'[accepted as by perftest; the CPU frequency is not looked at]' \
    '(-R --rdma_cm)'{-R,--rdma_cm}'[let the RDMA CM connect the queue pairs]' \
    --bind_source_ip'[own address of the TCP connection]:address:' \
    '(-V --version)'{-V,--version}'[print the version]' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::host:'
}

_verbena_perf_read_lat() {
  _arguments -s \
    '(-i --ib-port)'{-i,--ib-port}'[port of the adapter]:port:' \
    '(-p --port)'{-p,--port}'[TCP port]:port:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-x --gid-index)'{-x,--gid-index}'[GID of the port]:index:' \
    '(-s --size)'{-s,--size}'[size of messages]:bytes:' \
    '(-a --all)'{-a,--all}'[sizes 2, 4, … 2^23]' \
    '(-n --iters)'{-n,--iters}'[messages]:number:' \
    '(-D --duration)'{-D,--duration}'[end the test after this time instead]:seconds:' \
    '(-f --margin)'{-f,--margin}'[with -D\: begin and end that are not measured]:seconds:' \
    --warmup'[messages before the measurement]:number:' \
    '(-t --tx-depth)'{-t,--tx-depth}'[send queue, used with --rate]:number:' \
    '(-c --connection)'{-c,--connection}'[RC]:type:_values -s , value RC' \
    '(-m --mtu)'{-m,--mtu}'[path MTU]:bytes:' \
    '(-o --outs)'{-o,--outs}'[outstanding requests]:number:' \
    '(-e --events)'{-e,--events}'[sleep until a completion makes an event]' \
    '(-y --limit_msgrate)'{-y,--limit_msgrate}'[fail below this rate, Mpps]:value:' \
    --limit-latency'[fail above\: min, avg, stdev, max, p10 to p99.999]:name=usec,…:' \
    --limit-lost'[fail if more messages are lost (UC, UD)]:number:' \
    '(-H --report-histogram)'{-H,--report-histogram}'[show every latency, sorted]' \
    '(-U --report-unsorted)'{-U,--report-unsorted}'[show every latency in the order of the messages]' \
    --output'[show only this figure of each size]:figure:_values -s , value bandwidth message_rate latency' \
    --rate'[open loop\: send at this rate, and count latency from the intended send time]:messages/s:' \
    '(-S --sl)'{-S,--sl}'[service level]:level:' \
    '(-u --qp-timeout)'{-u,--qp-timeout}'[ACK timeout of 4.096 µs · 2^exponent]:exponent:' \
    --retry_count'[retries of a packet that is not acknowledged, 0 to 7]:number:' \
    --perform_warm_up'[accepted as by perftest; there is always a warm-up, see --warmup]' \
    '(-F --CPU-freq)'{-F,--CPU-freq}'[accepted as by perftest; the CPU frequency is not looked at]' \
    '(-R --rdma_cm)'{-R,--rdma_cm}'[let the RDMA CM connect the queue pairs]' \
    --bind_source_ip'[own address of the TCP connection]:address:' \
    '(-V --version)'{-V,--version}'[print the version]' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::host:'
}

_verbena_perf_read_bw() {
  _arguments -s \
    '(-i --ib-port)'{-i,--ib-port}'[port of the adapter]:port:' \
    '(-p --port)'{-p,--port}'[TCP port]:port:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-x --gid-index)'{-x,--gid-index}'[GID of the port]:index:' \
    '(-s --size)'{-s,--size}'[size of messages]:bytes:' \
    '(-a --all)'{-a,--all}'[sizes 2, 4, … 2^23]' \
    '(-n --iters)'{-n,--iters}'[messages of each queue pair]:number:' \
    '(-D --duration)'{-D,--duration}'[end the test after this time instead]:seconds:' \
    '(-f --margin)'{-f,--margin}'[with -D\: begin and end that are not measured]:seconds:' \
    --warmup'[messages before the measurement]:number:' \
    '(-t --tx-depth)'{-t,--tx-depth}'[send queue]:number:' \
    '(-c --connection)'{-c,--connection}'[RC]:type:_values -s , value RC' \
    '(-m --mtu)'{-m,--mtu}'[path MTU]:bytes:' \
    '(-o --outs)'{-o,--outs}'[outstanding requests]:number:' \
    '(-e --events)'{-e,--events}'[sleep until a completion makes an event]' \
    '(-q --qp)'{-q,--qp}'[queue pairs]:number:' \
    '(-l --post_list)'{-l,--post_list}'[work requests that are posted together]:number:' \
    '(-b --bidirectional)'{-b,--bidirectional}'[both ends send; the columns are the sum]' \
    '(-Q --cq-mod)'{-Q,--cq-mod}'[one of so many requests makes a completion]:number:' \
    '(-N --noPeak)'{-N,--noPeak}'[show no peak]' \
    --report_gbits'[Gb/sec instead of MiB/sec]' \
    '(-w --limit_bw)'{-w,--limit_bw}'[fail below this average bandwidth, in the unit of the report]:value:' \
    '(-y --limit_msgrate)'{-y,--limit_msgrate}'[fail below this message rate, Mpps]:value:' \
    --output'[show only this figure of each size]:figure:_values -s , value bandwidth message_rate latency' \
    --rate'[each sender sends at this rate]:messages/s:' \
    --rate_limit'[the same in the unit of --rate_units]:rate:' \
    --rate_units'[of --rate_limit\: M (MiB/sec), g (Gb/sec) or p (messages/s)]:unit:' \
    '(-S --sl)'{-S,--sl}'[service level]:level:' \
    '(-u --qp-timeout)'{-u,--qp-timeout}'[ACK timeout of 4.096 µs · 2^exponent]:exponent:' \
    --retry_count'[retries of a packet that is not acknowledged, 0 to 7]:number:' \
    --perform_warm_up'[accepted as by perftest; there is always a warm-up, see --warmup]' \
    '(-F --CPU-freq)'{-F,--CPU-freq}'[accepted as by perftest; the CPU frequency is not looked at]' \
    '(-R --rdma_cm)'{-R,--rdma_cm}'[let the RDMA CM connect the queue pairs]' \
    --bind_source_ip'[own address of the TCP connection]:address:' \
    '(-V --version)'{-V,--version}'[print the version]' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::host:'
}

_verbena_perf_atomic_lat() {
  _arguments -s \
    '(-i --ib-port)'{-i,--ib-port}'[port of the adapter]:port:' \
    '(-p --port)'{-p,--port}'[TCP port]:port:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-x --gid-index)'{-x,--gid-index}'[GID of the port]:index:' \
    '(-n --iters)'{-n,--iters}'[messages]:number:' \
    '(-D --duration)'{-D,--duration}'[end the test after this time instead]:seconds:' \
    '(-f --margin)'{-f,--margin}'[with -D\: begin and end that are not measured]:seconds:' \
    --warmup'[messages before the measurement]:number:' \
    '(-t --tx-depth)'{-t,--tx-depth}'[send queue, used with --rate]:number:' \
    '(-c --connection)'{-c,--connection}'[RC]:type:_values -s , value RC' \
    '(-m --mtu)'{-m,--mtu}'[path MTU]:bytes:' \
    '(-o --outs)'{-o,--outs}'[outstanding requests]:number:' \
    '(-A --atomic_type)'{-A,--atomic_type}'[FETCH_AND_ADD or CMP_AND_SWAP]:type:_values -s , value FETCH_AND_ADD CMP_AND_SWAP' \
    '(-e --events)'{-e,--events}'[sleep until a completion makes an event]' \
    '(-y --limit_msgrate)'{-y,--limit_msgrate}'[fail below this rate, Mpps]:value:' \
    --limit-latency'[fail above\: min, avg, stdev, max, p10 to p99.999]:name=usec,…:' \
    --limit-lost'[fail if more messages are lost (UC, UD)]:number:' \
    '(-H --report-histogram)'{-H,--report-histogram}'[show every latency, sorted]' \
    '(-U --report-unsorted)'{-U,--report-unsorted}'[show every latency in the order of the messages]' \
    --output'[show only this figure of each size]:figure:_values -s , value bandwidth message_rate latency' \
    --rate'[open loop\: send at this rate, and count latency from the intended send time]:messages/s:' \
    '(-S --sl)'{-S,--sl}'[service level]:level:' \
    '(-u --qp-timeout)'{-u,--qp-timeout}'[ACK timeout of 4.096 µs · 2^exponent]:exponent:' \
    --retry_count'[retries of a packet that is not acknowledged, 0 to 7]:number:' \
    --perform_warm_up'[accepted as by perftest; there is always a warm-up, see --warmup]' \
    '(-F --CPU-freq)'{-F,--CPU-freq}'[accepted as by perftest; the CPU frequency is not looked at]' \
    '(-R --rdma_cm)'{-R,--rdma_cm}'[let the RDMA CM connect the queue pairs]' \
    --bind_source_ip'[own address of the TCP connection]:address:' \
    '(-V --version)'{-V,--version}'[print the version]' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::host:'
}

_verbena_perf_atomic_bw() {
  _arguments -s \
    '(-i --ib-port)'{-i,--ib-port}'[port of the adapter]:port:' \
    '(-p --port)'{-p,--port}'[TCP port]:port:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-x --gid-index)'{-x,--gid-index}'[GID of the port]:index:' \
    '(-n --iters)'{-n,--iters}'[messages of each queue pair]:number:' \
    '(-D --duration)'{-D,--duration}'[end the test after this time instead]:seconds:' \
    '(-f --margin)'{-f,--margin}'[with -D\: begin and end that are not measured]:seconds:' \
    --warmup'[messages before the measurement]:number:' \
    '(-t --tx-depth)'{-t,--tx-depth}'[send queue]:number:' \
    '(-c --connection)'{-c,--connection}'[RC]:type:_values -s , value RC' \
    '(-m --mtu)'{-m,--mtu}'[path MTU]:bytes:' \
    '(-o --outs)'{-o,--outs}'[outstanding requests]:number:' \
    '(-A --atomic_type)'{-A,--atomic_type}'[FETCH_AND_ADD or CMP_AND_SWAP]:type:_values -s , value FETCH_AND_ADD CMP_AND_SWAP' \
    '(-e --events)'{-e,--events}'[sleep until a completion makes an event]' \
    '(-q --qp)'{-q,--qp}'[queue pairs]:number:' \
    '(-l --post_list)'{-l,--post_list}'[work requests that are posted together]:number:' \
    '(-b --bidirectional)'{-b,--bidirectional}'[both ends send; the columns are the sum]' \
    '(-Q --cq-mod)'{-Q,--cq-mod}'[one of so many requests makes a completion]:number:' \
    '(-N --noPeak)'{-N,--noPeak}'[show no peak]' \
    --report_gbits'[Gb/sec instead of MiB/sec]' \
    '(-w --limit_bw)'{-w,--limit_bw}'[fail below this average bandwidth, in the unit of the report]:value:' \
    '(-y --limit_msgrate)'{-y,--limit_msgrate}'[fail below this message rate, Mpps]:value:' \
    --output'[show only this figure of each size]:figure:_values -s , value bandwidth message_rate latency' \
    --rate'[each sender sends at this rate]:messages/s:' \
    --rate_limit'[the same in the unit of --rate_units]:rate:' \
    --rate_units'[of --rate_limit\: M (MiB/sec), g (Gb/sec) or p (messages/s)]:unit:' \
    '(-S --sl)'{-S,--sl}'[service level]:level:' \
    '(-u --qp-timeout)'{-u,--qp-timeout}'[ACK timeout of 4.096 µs · 2^exponent]:exponent:' \
    --retry_count'[retries of a packet that is not acknowledged, 0 to 7]:number:' \
    --perform_warm_up'[accepted as by perftest; there is always a warm-up, see --warmup]' \
    '(-F --CPU-freq)'{-F,--CPU-freq}'[accepted as by perftest; the CPU frequency is not looked at]' \
    '(-R --rdma_cm)'{-R,--rdma_cm}'[let the RDMA CM connect the queue pairs]' \
    --bind_source_ip'[own address of the TCP connection]:address:' \
    '(-V --version)'{-V,--version}'[print the version]' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::host:'
}

_verbena_rc_pingpong() {
  _arguments -s \
    '(-p --port)'{-p,--port}'[TCP port to listen on or connect to]:port:' \
    '(-i --ib-port)'{-i,--ib-port}'[port of the adapter]:port:' \
    '(-s --size)'{-s,--size}'[size of each message]:bytes:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-m --mtu)'{-m,--mtu}'[path MTU]:bytes:' \
    '(-r --rx-depth)'{-r,--rx-depth}'[receives that are posted at a time]:number:' \
    '(-n --iters)'{-n,--iters}'[exchanges]:number:' \
    '(-l --sl)'{-l,--sl}'[service level]:level:' \
    '(-e --events)'{-e,--events}'[sleep until a completion makes an event]' \
    '(-c --chk)'{-c,--chk}'[check what arrived; exit code 1 if it is wrong]' \
    '(-g --gid-index)'{-g,--gid-index}'[GID of the port]:index:' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::host:'
}

_verbena_uc_pingpong() {
  _arguments -s \
    '(-p --port)'{-p,--port}'[TCP port to listen on or connect to]:port:' \
    '(-i --ib-port)'{-i,--ib-port}'[port of the adapter]:port:' \
    '(-s --size)'{-s,--size}'[size of each message]:bytes:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-m --mtu)'{-m,--mtu}'[path MTU]:bytes:' \
    '(-r --rx-depth)'{-r,--rx-depth}'[receives that are posted at a time]:number:' \
    '(-n --iters)'{-n,--iters}'[exchanges]:number:' \
    '(-l --sl)'{-l,--sl}'[service level]:level:' \
    '(-e --events)'{-e,--events}'[sleep until a completion makes an event]' \
    '(-c --chk)'{-c,--chk}'[check what arrived; exit code 1 if it is wrong]' \
    '(-g --gid-index)'{-g,--gid-index}'[GID of the port]:index:' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::host:'
}

_verbena_ud_pingpong() {
  _arguments -s \
    '(-p --port)'{-p,--port}'[TCP port to listen on or connect to]:port:' \
    '(-i --ib-port)'{-i,--ib-port}'[port of the adapter]:port:' \
    '(-s --size)'{-s,--size}'[size of each message]:bytes:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-r --rx-depth)'{-r,--rx-depth}'[receives that are posted at a time]:number:' \
    '(-n --iters)'{-n,--iters}'[exchanges]:number:' \
    '(-l --sl)'{-l,--sl}'[service level]:level:' \
    '(-e --events)'{-e,--events}'[sleep until a completion makes an event]' \
    '(-c --chk)'{-c,--chk}'[check what arrived; exit code 1 if it is wrong]' \
    '(-g --gid-index)'{-g,--gid-index}'[GID of the port]:index:' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::host:'
}

_verbena_srq_pingpong() {
  _arguments -s \
    '(-p --port)'{-p,--port}'[TCP port to listen on or connect to]:port:' \
    '(-i --ib-port)'{-i,--ib-port}'[port of the adapter]:port:' \
    '(-s --size)'{-s,--size}'[size of each message]:bytes:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    '(-m --mtu)'{-m,--mtu}'[path MTU]:bytes:' \
    '(-q --num-qp)'{-q,--num-qp}'[queue pairs, at most 255]:number:' \
    '(-r --rx-depth)'{-r,--rx-depth}'[receives that are posted at a time]:number:' \
    '(-n --iters)'{-n,--iters}'[exchanges]:number:' \
    '(-l --sl)'{-l,--sl}'[service level]:level:' \
    '(-e --events)'{-e,--events}'[sleep until a completion makes an event]' \
    '(-c --chk)'{-c,--chk}'[check what arrived; exit code 1 if it is wrong]' \
    '(-g --gid-index)'{-g,--gid-index}'[GID of the port]:index:' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::host:'
}

_verbena_rping() {
  _arguments -s \
    -s'[be the server]' \
    -c'[be the client]' \
    -a'[the server'\''s address or name; without it a server listens on all addresses]:address:' \
    -I'[client\: its own address]:address:' \
    -p'[port]:port:' \
    -C'[client\: pings; 0 runs until Ctrl-C]:count:' \
    -S'[size of the buffer, 26 to 65535]:bytes:' \
    -v'[show the data of each ping]' \
    -V'[client\: check the data of each ping; exit code 1 if it is wrong]' \
    -d'[show what happens underneath]' \
    -P'[server\: go on for other clients, also several at a time, until Ctrl-C]' \
    -q'[make and move the queue pair in the program instead of in the RDMA CM]' \
    --device'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_ucmatose() {
  _arguments -s \
    -s'[be the client of the server with this address or name]:server:' \
    -b'[own address or name to bind to]:address:' \
    -c'[connections]:number:' \
    -C'[messages on each connection]:number:' \
    -S'[size of each message]:bytes:' \
    -f'[what -s and -b are\: name, ip, ipv6 or gid]:format:_values -s , value name ip ipv6 gid' \
    -P'[port space\: tcp or ib]:space:_values -s , value tcp ib' \
    -p'[port]:port:' \
    -t'[type of service, 0 to 255]:tos:' \
    -a'[local ACK timeout, 4.096 µs · 2^code]:code:' \
    -m'[move all ids to another event channel before they disconnect]' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_udaddy() {
  _arguments -s \
    -s'[be the client of the server with this address or name]:server:' \
    -b'[own address or name to bind to]:address:' \
    -c'[connections]:number:' \
    -C'[messages on each connection]:number:' \
    -S'[size of each message]:bytes:' \
    -f'[what -s and -b are\: name, ip, ipv6 or gid]:format:_values -s , value name ip ipv6 gid' \
    -P'[port space\: udp or ipoib]:space:_values -s , value udp ipoib' \
    -p'[port space by its number\: 0x111 for UDP, 0x2 for IPoIB]:number:' \
    -t'[type of service, 0 to 255]:tos:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_mckey() {
  _arguments -s \
    -m'[IP address of the group]:address:' \
    -M'[GID of the group, instead of -m; needs -b]:gid:' \
    -s'[send to the group]' \
    -b'[own address or name to bind to]:address:' \
    -c'[connections]:number:' \
    -C'[messages on each connection]:number:' \
    -S'[size of each message]:bytes:' \
    -p'[port space by its number\: 0x111 for UDP, 0x2 for IPoIB]:number:' \
    -o'[join to send only]' \
    --settle'[seconds to wait after joining]:seconds:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_cmtime() {
  _arguments -s \
    -s'[be the client of the server with this address or name]:server:' \
    -b'[own address or name to bind to]:address:' \
    -c'[connections]:number:' \
    -p'[port]:port:' \
    -r'[how often an address or route is resolved again]:number:' \
    -t'[how long resolving one may take]:milliseconds:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_rstream() {
  _arguments -s \
    -s'[be the client of the server with this address or name]:server:' \
    -b'[own address or name to bind to]:address:' \
    -f'[what -s and -b are\: name, ip, ipv6 or gid]:format:_values -s , value name ip ipv6 gid' \
    -B'[size of the send and receive buffer]:bytes:' \
    -i'[messages up to this size go inside a work request in latency tests]:bytes:' \
    -I'[iterations of one test of your own]:iterations:' \
    -C'[messages each way in an iteration of it]:number:' \
    -S'[size of its messages, or "all" for tests of all sizes]:bytes:' \
    -p'[port]:port:' \
    -k'[send keepalives after this much silence]:seconds:' \
    -T'[what and how to test, see below; may be repeated]:option:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_riostream() {
  _arguments -s \
    -s'[be the client of the server with this address or name]:server:' \
    -b'[own address or name to bind to]:address:' \
    -f'[what -s and -b are\: name, ip, ipv6 or gid]:format:_values -s , value name ip ipv6 gid' \
    -B'[size of the send and receive buffer]:bytes:' \
    -i'[messages up to this size go inside a work request in latency tests]:bytes:' \
    -I'[iterations of one test of your own]:iterations:' \
    -C'[messages each way in an iteration of it]:number:' \
    -S'[size of its messages, or "all" for tests of all sizes]:bytes:' \
    -p'[port]:port:' \
    -T'[what and how to test, see below; may be repeated]:option:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_rcopy() {
  _arguments -s \
    -p'[port]:port:' \
    --dir'[server\: write below this directory only]:directory:_files -/' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::file:_files' \
    '2::server\[\:destination\]:'
}

_verbena_udpong() {
  _arguments -s \
    -s'[be the client of the server with this address or name]:server:' \
    -b'[own address or name to bind to]:address:' \
    -B'[size of the send and receive buffer]:bytes:' \
    -C'[datagrams of one test of your own]:number:' \
    -S'[size of its datagrams, 16 to 2056]:bytes:' \
    -p'[port]:port:' \
    -T'[what and how to test, see below; may be repeated]:option:' \
    '(-d --device)'{-d,--device}'[adapter\: roce, roce\:ADDRESS, shm\:NAME]:dev:_verbena_devices' \
    --wait'[client\: retry for this long while no server listens]:seconds:' \
    --timeout'[give up when nothing arrives for this long; 0 waits forever]:seconds:' \
    --json'[print one JSON document and nothing else]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_devices() {
  _arguments -s \
    --counters'[messages, errors and drops of each adapter, also of those in other processes]' \
    --json'[print one JSON document]' \
    '(-h --help)'{-h,--help}'[print help]'
}

_verbena_devinfo() {
  _arguments -s \
    '(-d --device)'{-d,--device}'[the same, as ibv_devinfo takes it]:dev:_verbena_devices' \
    '(-i --ib-port)'{-i,--ib-port}'[only this port]:port:' \
    '(-l --list)'{-l,--list}'[only the names]' \
    '(-v --verbose)'{-v,--verbose}'[all attributes, and the GID and P_Key tables]' \
    --json'[print one JSON document with all attributes]' \
    '(-h --help)'{-h,--help}'[print help]' \
    '1::device:_verbena_devices'
}

_verbena_completion() {
  _arguments -s \
    '(-h --help)'{-h,--help}'[print help]' \
    '1:shell:_values -s , value bash zsh fish'
}

if [[ $funcstack[1] == _verbena ]]; then _verbena "$@"; else compdef _verbena verbena; fi
