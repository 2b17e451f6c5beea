# fish completion for verbena. Made by `npm run docs` from the options of the commands.

function __verbena_devices
    verbena devices 2> /dev/null | tail -n +2 | string replace -r ' .*' ''
end

# Whether the command at the cursor is this one: the longest that the words before it name.
function __verbena_at
    set -l found
    for word in (commandline -opc)[2..-1]
        set -l longer (string join ' ' $found $word)
        contains -- $longer 'start' 'bench' 'bench latency' 'bench throughput' 'bench rsocket' 'bench node' 'bench collective' 'collective' 'collective measure' 'collective tune' 'report' 'trace' 'trace check' 'trace show' 'trace info' 'trace page' 'trace convert' 'traffic' 'traffic server' 'traffic client' 'traffic merge' 'traffic fit' 'traffic cdf' 'collect' 'collect counters' 'collect l2' 'collect trace' 'collect session' 'monitor' 'monitor collector' 'monitor compare' 'monitor report' 'monitor watch' 'replay' 'replay packets' 'replay messages' 'replay server' 'replay client' 'run' 'gateway' 'gateway convert' 'gateway compare' 'gateway hook' 'gateway node' 'gateway pipe' 'gateway signal' 'gateway check' 'gateway graph' 'perf' 'perf send_lat' 'perf send_bw' 'perf write_lat' 'perf write_bw' 'perf read_lat' 'perf read_bw' 'perf atomic_lat' 'perf atomic_bw' 'rc_pingpong' 'ibv_rc_pingpong' 'uc_pingpong' 'ibv_uc_pingpong' 'ud_pingpong' 'ibv_ud_pingpong' 'srq_pingpong' 'ibv_srq_pingpong' 'rping' 'ucmatose' 'udaddy' 'mckey' 'cmtime' 'rstream' 'riostream' 'rcopy' 'udpong' 'devices' 'ibv_devices' 'devinfo' 'ibv_devinfo' 'completion'; and set found (string split ' ' $longer)
    end
    test "$found" = "$argv"
end

complete -c verbena -f
complete -c verbena -f -n '__verbena_at' -a start -d 'measure with good defaults in under a minute, then write the report'
complete -c verbena -f -n '__verbena_at' -a bench -d 'measure: one-way latency, throughput, rsockets beside TCP, or node-types'
complete -c verbena -f -n '__verbena_at' -a collective -d 'choose the algorithms of collective operations: measure, tune'
complete -c verbena -f -n '__verbena_at' -a report -d 'make a report from saved results'
complete -c verbena -f -n '__verbena_at' -a trace -d 'look at captures of RDMA traffic: check, show, info, convert'
complete -c verbena -f -n '__verbena_at' -a traffic -d 'generate RDMA traffic by distributions of sizes, arrivals and verbs: server, client, cdf'
complete -c verbena -f -n '__verbena_at' -a collect -d 'collect RDMA traffic of this host: counters, what carries RoCE, traces'
complete -c verbena -f -n '__verbena_at' -a monitor -d 'watch RDMA traffic: who loads the network, what is lost, where it congests'
complete -c verbena -f -n '__verbena_at' -a replay -d 'replay captured RDMA traffic: its packets rewritten, or its messages as verbs'
complete -c verbena -f -n '__verbena_at' -a run -d 'run an unmodified RDMA program: its adapters are ours. No adapter, no kernel module, no root'
complete -c verbena -f -n '__verbena_at' -a gateway -d 'samples of real-time simulators, as VILLASnode has them: node, pipe, signal, convert, …'
complete -c verbena -f -n '__verbena_at' -a perf -d 'perftest: bandwidth and latency between two processes'
complete -c verbena -f -n '__verbena_at' -a rc_pingpong -d 'ibv_rc_pingpong: messages to and fro, RC'
complete -c verbena -f -n '__verbena_at' -a ibv_rc_pingpong -d 'ibv_rc_pingpong: messages to and fro, RC'
complete -c verbena -f -n '__verbena_at' -a uc_pingpong -d 'ibv_uc_pingpong: the same, UC'
complete -c verbena -f -n '__verbena_at' -a ibv_uc_pingpong -d 'ibv_uc_pingpong: the same, UC'
complete -c verbena -f -n '__verbena_at' -a ud_pingpong -d 'ibv_ud_pingpong: the same, UD'
complete -c verbena -f -n '__verbena_at' -a ibv_ud_pingpong -d 'ibv_ud_pingpong: the same, UD'
complete -c verbena -f -n '__verbena_at' -a srq_pingpong -d 'ibv_srq_pingpong: many RC queue pairs, one receive queue'
complete -c verbena -f -n '__verbena_at' -a ibv_srq_pingpong -d 'ibv_srq_pingpong: many RC queue pairs, one receive queue'
complete -c verbena -f -n '__verbena_at' -a rping -d 'rping: RDMA READ and WRITE to and fro, RDMA CM'
complete -c verbena -f -n '__verbena_at' -a ucmatose -d 'ucmatose: messages on RC connections, RDMA CM'
complete -c verbena -f -n '__verbena_at' -a udaddy -d 'udaddy: datagrams, RDMA CM'
complete -c verbena -f -n '__verbena_at' -a mckey -d 'mckey: datagrams to a multicast group, RDMA CM'
complete -c verbena -f -n '__verbena_at' -a cmtime -d 'cmtime: how long connections of the RDMA CM take'
complete -c verbena -f -n '__verbena_at' -a rstream -d 'rstream: streams over rsockets, or kernel TCP'
complete -c verbena -f -n '__verbena_at' -a riostream -d 'riostream: writes into mapped memory over rsockets'
complete -c verbena -f -n '__verbena_at' -a rcopy -d 'rcopy: files over rsockets'
complete -c verbena -f -n '__verbena_at' -a udpong -d 'udpong: datagrams over rsockets, or kernel UDP'
complete -c verbena -f -n '__verbena_at' -a devices -d 'list the adapters of this host'
complete -c verbena -f -n '__verbena_at' -a ibv_devices -d 'list the adapters of this host'
complete -c verbena -f -n '__verbena_at' -a devinfo -d 'show what an adapter can do'
complete -c verbena -f -n '__verbena_at' -a ibv_devinfo -d 'show what an adapter can do'
complete -c verbena -f -n '__verbena_at' -a completion -d 'print the completion script of bash, zsh or fish'
complete -c verbena -n '__verbena_at' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at start' -l repeat -d 'measure every combination so many times' -r
complete -c verbena -n '__verbena_at start' -l seed -d 'for the payload behind the stamp and the order of the sets' -r
complete -c verbena -n '__verbena_at start' -l out -d 'where results and report are kept' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at start' -l open -d 'open the report in the browser' -f -a 'yes no'
complete -c verbena -n '__verbena_at start' -l json -d 'print one JSON document on stdout and nothing else'
complete -c verbena -n '__verbena_at start' -s h -l help -d 'print help'
complete -c verbena -f -n '__verbena_at bench' -a latency -d 'one-way latency of messages'
complete -c verbena -f -n '__verbena_at bench' -a throughput -d 'messages and bytes per second of the tutorial’s techniques'
complete -c verbena -f -n '__verbena_at bench' -a rsocket -d 'rsockets beside TCP of the kernel: TCP_RR and TCP_STREAM'
complete -c verbena -f -n '__verbena_at bench' -a node -d 'latency and losses of node-types of the gateway'
complete -c verbena -f -n '__verbena_at bench' -a collective -d 'one to many and many to one, by transport, operation, size and processes'
complete -c verbena -n '__verbena_at bench' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at bench latency' -s d -l device -d 'sending and receiving adapter; a single one is paired with its neighbour' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at bench latency' -l service -d 'service type: RC, UC, UD' -r -f -a 'RC UC UD'
complete -c verbena -n '__verbena_at bench latency' -l op -d 'operation: send-imm, write-imm (UD has only send-imm)' -r -f -a 'send-imm write-imm'
complete -c verbena -n '__verbena_at bench latency' -l size -d 'message size: 8, 16, 32, … 32768 (UD up to the MTU)' -r
complete -c verbena -n '__verbena_at bench latency' -l poll -d 'how the receiver waits: busy, event' -r -f -a 'busy event'
complete -c verbena -n '__verbena_at bench latency' -l poll-comp -d 'how the sender waits for completions: busy, event' -r -f -a 'busy event'
complete -c verbena -n '__verbena_at bench latency' -l inline -d 'copy the payload into the work request when it is posted' -f -a 'on off'
complete -c verbena -n '__verbena_at bench latency' -l unsignaled -d 'no completions for sends, but the few that drain the send queue: no t_comp' -f -a 'on off'
complete -c verbena -n '__verbena_at bench latency' -l burst -d 'messages of one test: 1 to 8192' -r
complete -c verbena -n '__verbena_at bench latency' -l pause -d 'nanoseconds between posts; 0 posts as fast as it goes' -r
complete -c verbena -n '__verbena_at bench latency' -l stamp -d 'what the payload tells: submit (when it was posted), send (when the adapter read it)' -r -f -a 'submit send'
complete -c verbena -n '__verbena_at bench latency' -l engine -d 'what executes requests: poster (the posting thread), thread (one that plays the adapter)' -r -f -a 'poster thread'
complete -c verbena -n '__verbena_at bench latency' -l pin -d 'cores of the sender, receiver, engine and stamping thread' -r -f -a 'auto'
complete -c verbena -n '__verbena_at bench latency' -l repeat -d 'measure every combination so many times' -r
complete -c verbena -n '__verbena_at bench latency' -l seed -d 'for the payload behind the stamp and the order of the sets' -r
complete -c verbena -n '__verbena_at bench latency' -l warmup -d 'messages before each burst that are not counted' -r
complete -c verbena -n '__verbena_at bench latency' -l out -d 'where results are kept' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at bench latency' -l json -d 'print one JSON document on stdout and nothing else'
complete -c verbena -n '__verbena_at bench latency' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at bench throughput' -s d -l device -d 'client\'s and server\'s adapter; a single one is paired with its neighbour' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at bench throughput' -l technique -d 'technique: send-recv, write, write-unsignaled, write-inline, write-batch, srq, write-imm' -r -f -a 'send-recv write write-unsignaled write-inline write-batch srq write-imm'
complete -c verbena -n '__verbena_at bench throughput' -l service -d 'service type: RC, UC, UD (UD has only send-recv)' -r -f -a 'RC UC UD'
complete -c verbena -n '__verbena_at bench throughput' -l concurrent -d 'messages outstanding: 1 to 4096' -r
complete -c verbena -n '__verbena_at bench throughput' -l batch -d 'linked work requests of one post, for write-batch' -r
complete -c verbena -n '__verbena_at bench throughput' -l size -d 'message size: 1 to 1048576' -r
complete -c verbena -n '__verbena_at bench throughput' -l qps -d 'queue pairs at each end, for srq and write-imm' -r
complete -c verbena -n '__verbena_at bench throughput' -l engine -d 'what executes requests: poster (the posting thread), thread (one that plays the adapter)' -r -f -a 'poster thread'
complete -c verbena -n '__verbena_at bench throughput' -l pin -d 'cores of the client, the server and their engine threads' -r -f -a 'auto'
complete -c verbena -n '__verbena_at bench throughput' -l seconds -d 'time of each measurement' -r
complete -c verbena -n '__verbena_at bench throughput' -l messages -d 'end a measurement after so many messages' -r
complete -c verbena -n '__verbena_at bench throughput' -l warmup -d 'messages before each measurement that are not counted' -r
complete -c verbena -n '__verbena_at bench throughput' -l repeat -d 'measure every combination so many times' -r
complete -c verbena -n '__verbena_at bench throughput' -l seed -d 'for the order of the sets' -r
complete -c verbena -n '__verbena_at bench throughput' -l out -d 'where results are kept' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at bench throughput' -l json -d 'print one JSON document on stdout and nothing else'
complete -c verbena -n '__verbena_at bench throughput' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at bench rsocket' -l test -d 'test: rr (TCP_RR), stream (TCP_STREAM)' -r -f -a 'rr stream'
complete -c verbena -n '__verbena_at bench rsocket' -l transport -d 'what the sockets are: rsocket, tcp (of the kernel, on loopback)' -r -f -a 'rsocket tcp'
complete -c verbena -n '__verbena_at bench rsocket' -s d -l device -d 'rsockets: the client\'s and the server\'s adapter; a single one is paired with its neighbour' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at bench rsocket' -l size -d 'message size: 1 to 16777216' -r
complete -c verbena -n '__verbena_at bench rsocket' -l poll -d 'waiting: event (sleep, as netperf and librdmacm do) or busy (poll without end)' -r -f -a 'busy event'
complete -c verbena -n '__verbena_at bench rsocket' -l buffer -d 'send and receive buffer of both kinds of sockets; 0 leaves each its own' -r
complete -c verbena -n '__verbena_at bench rsocket' -l extensions -d 'rsockets: what two Verbena ends do better than version 1; off: as with a peer of librdmacm' -f -a 'on off'
complete -c verbena -n '__verbena_at bench rsocket' -l direct -d 'rsockets: send from memory of the adapter, which is not copied first (blocking sends of 4 KiB or more)' -f -a 'on off'
complete -c verbena -n '__verbena_at bench rsocket' -l pin -d 'cores of the client and the server' -r -f -a 'auto'
complete -c verbena -n '__verbena_at bench rsocket' -l seconds -d 'time of each measurement' -r
complete -c verbena -n '__verbena_at bench rsocket' -l warmup -d 'time before each measurement that is not counted' -r
complete -c verbena -n '__verbena_at bench rsocket' -l repeat -d 'measure every combination so many times' -r
complete -c verbena -n '__verbena_at bench rsocket' -l seed -d 'for the order of the sets' -r
complete -c verbena -n '__verbena_at bench rsocket' -l profile -d 'also sample where the time goes'
complete -c verbena -n '__verbena_at bench rsocket' -l out -d 'where results are kept' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at bench rsocket' -l json -d 'print one JSON document on stdout and nothing else'
complete -c verbena -n '__verbena_at bench rsocket' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at bench node' -l node -d 'node-types: loopback, infiniband, shmem, socket, websocket, zeromq' -r
complete -c verbena -n '__verbena_at bench node' -l mode -d 'modes of the types' -r
complete -c verbena -n '__verbena_at bench node' -l values -d 'values of a sample' -r
complete -c verbena -n '__verbena_at bench node' -l rate -d 'samples per second' -r
complete -c verbena -n '__verbena_at bench node' -l timer -d 'how the generator waits: hybrid, tsc, timerfd' -r
complete -c verbena -n '__verbena_at bench node' -s d -l device -d 'verbs devices of infiniband: shm (one for this run), roce, or any other name' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at bench node' -l max-inline-data -d 'of infiniband: samples of fewer bytes are sent inline; 0: none' -r
complete -c verbena -n '__verbena_at bench node' -l periodic-signaling -d 'of infiniband: every so many-th inline send is signaled instead' -r
complete -c verbena -n '__verbena_at bench node' -l buffer-subtraction -d 'of infiniband: how many receives of 4096 are not posted' -r
complete -c verbena -n '__verbena_at bench node' -l processes -d 'generator and receiver in two processes (default, where memory can be shared)'
complete -c verbena -n '__verbena_at bench node' -l threads -d 'generator and receiver in two threads'
complete -c verbena -n '__verbena_at bench node' -l limit -d 'samples of each run' -r
complete -c verbena -n '__verbena_at bench node' -l warmup -d 'samples at 10 kHz before each run' -r
complete -c verbena -n '__verbena_at bench node' -l repeat -d 'measure every combination so many times' -r
complete -c verbena -n '__verbena_at bench node' -l pin -d 'cores of generator and receiver: auto, none, or two numbers' -r -f -a 'auto none'
complete -c verbena -n '__verbena_at bench node' -l out -d 'where results are kept' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at bench node' -l json -d 'print one JSON document on stdout and nothing else'
complete -c verbena -n '__verbena_at bench node' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at bench collective' -s d -l device -d 'adapters: shm:NAME, roce:ADDRESS, …; %r stands for the rank + 1' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at bench collective' -l transport -d 'TRANSPORT: RC, UC, UD, multicast' -r
complete -c verbena -n '__verbena_at bench collective' -l mode -d 'MODE: SEND, WRITE, WRITE_IMM, READ' -r
complete -c verbena -n '__verbena_at bench collective' -l measure -d 'MEASURE: what is timed (below)' -r
complete -c verbena -n '__verbena_at bench collective' -l size -d 'message sizes' -r
complete -c verbena -n '__verbena_at bench collective' -l processes -d 'numbers of remote processes' -r
complete -c verbena -n '__verbena_at bench collective' -l repetitions -d 'REPETITIONS: of each step' -r
complete -c verbena -n '__verbena_at bench collective' -l max-posts -d 'MAXPOSTS: scenario 1 sends 1 to so many messages in a step; a list: exactly so many' -r
complete -c verbena -n '__verbena_at bench collective' -l memsize -d 'MEMSIZE: the last of the sizes, where --size names none' -r
complete -c verbena -n '__verbena_at bench collective' -l warmup -d 'repetitions before those that count; 50 times as many before the first set' -r
complete -c verbena -n '__verbena_at bench collective' -l lost-after -d 'a message of UC, UD or multicast is lost when it has not come for so long' -r
complete -c verbena -n '__verbena_at bench collective' -l procs -d 'start so many ranks on this host' -r
complete -c verbena -n '__verbena_at bench collective' -l rank -d 'which rank this process is' -r
complete -c verbena -n '__verbena_at bench collective' -l ranks -d 'how many ranks there are' -r
complete -c verbena -n '__verbena_at bench collective' -l meet -d 'where rank 0 is' -r
complete -c verbena -n '__verbena_at bench collective' -l timeout -d 'until all ranks are there, and for what must come' -r
complete -c verbena -n '__verbena_at bench collective' -l pin -d 'auto: a core for each rank, if there are enough; none' -r
complete -c verbena -n '__verbena_at bench collective' -l out -d 'where rank 0 keeps the results' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at bench collective' -l json -d 'rank 0 prints one JSON document on stdout and nothing else'
complete -c verbena -n '__verbena_at bench collective' -s h -l help -d 'print help'
complete -c verbena -f -n '__verbena_at collective' -a measure -d 'how long each algorithm takes, by size and number of ranks'
complete -c verbena -f -n '__verbena_at collective' -a tune -d 'make a table that chooses, from such results'
complete -c verbena -n '__verbena_at collective' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at collective measure' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at collective measure' -l collective -d 'collectives' -r
complete -c verbena -n '__verbena_at collective measure' -l size -d 'of a broadcast or a reduction all, else what one rank has for one other' -r
complete -c verbena -n '__verbena_at collective measure' -l among -d 'how many of the ranks take part' -r
complete -c verbena -n '__verbena_at collective measure' -l repetitions -d 'timed calls of each set' -r
complete -c verbena -n '__verbena_at collective measure' -l procs -d 'start so many ranks on this host' -r
complete -c verbena -n '__verbena_at collective measure' -l rank -d 'which rank this process is' -r
complete -c verbena -n '__verbena_at collective measure' -l ranks -d 'how many ranks there are' -r
complete -c verbena -n '__verbena_at collective measure' -l meet -d 'where rank 0 is' -r
complete -c verbena -n '__verbena_at collective measure' -l timeout -d 'until all ranks are there, and for what must come' -r
complete -c verbena -n '__verbena_at collective measure' -l pin -d 'auto: a core for each rank, if there are enough; none' -r
complete -c verbena -n '__verbena_at collective measure' -l out -d 'where rank 0 keeps the results' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at collective measure' -l json -d 'rank 0 prints one JSON document on stdout and nothing else'
complete -c verbena -n '__verbena_at collective measure' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at collective tune' -s o -l output -d 'where the table goes' -r -F
complete -c verbena -n '__verbena_at collective tune' -l json -d 'print what changes as one JSON document and nothing else'
complete -c verbena -n '__verbena_at collective tune' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at report' -l out -d 'where the report goes' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at report' -l over -d 'the setting on the horizontal axis of the median chart' -r
complete -c verbena -n '__verbena_at report' -l range -d 'upper limit of the histograms' -r
complete -c verbena -n '__verbena_at report' -l title -d 'title of the page' -r
complete -c verbena -n '__verbena_at report' -l open -d 'open it in the browser' -f -a 'yes no'
complete -c verbena -n '__verbena_at report' -l json -d 'print the paths of the files as one JSON document'
complete -c verbena -n '__verbena_at report' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at report' -f -a '(__fish_complete_directories)'
complete -c verbena -f -n '__verbena_at trace' -a check -d 'ICRC, lengths and headers of every packet'
complete -c verbena -f -n '__verbena_at trace' -a show -d 'a line for each packet, with what it means in its connection'
complete -c verbena -f -n '__verbena_at trace' -a info -d 'the conversations: messages, losses, NAKs, latencies'
complete -c verbena -f -n '__verbena_at trace' -a page -d 'a page that does all of this in the browser, with a capture in it or without'
complete -c verbena -f -n '__verbena_at trace' -a convert -d 'write the packets, or some of them, in another format'
complete -c verbena -n '__verbena_at trace' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at trace check' -s d -l decode-as -d 'what another UDP port carries: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated' -r
complete -c verbena -n '__verbena_at trace check' -l roce-port -d 'another UDP port of RoCEv2, as --decode-as PORT=roce' -r
complete -c verbena -n '__verbena_at trace check' -l no-icrc -d 'leave the ICRC out: lengths and headers only'
complete -c verbena -n '__verbena_at trace check' -l json -d 'print one JSON document'
complete -c verbena -n '__verbena_at trace check' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at trace check' -F
complete -c verbena -n '__verbena_at trace show' -s d -l decode-as -d 'what another UDP port carries: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated' -r
complete -c verbena -n '__verbena_at trace show' -l roce-port -d 'another UDP port of RoCEv2, as --decode-as PORT=roce' -r
complete -c verbena -n '__verbena_at trace show' -s f -l filter -d 'only packets for which this is true' -r
complete -c verbena -n '__verbena_at trace show' -s n -l limit -d 'end after so many packets' -r
complete -c verbena -n '__verbena_at trace show' -s t -l time -d 'when packets were captured, as below' -r
complete -c verbena -n '__verbena_at trace show' -s V -l verbose -d 'show every header field by field, with what the analysis says'
complete -c verbena -n '__verbena_at trace show' -s x -l hex -d 'show the bytes of each packet'
complete -c verbena -n '__verbena_at trace show' -l json -d 'print a JSON object for each packet, one on each line'
complete -c verbena -n '__verbena_at trace show' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at trace show' -F
complete -c verbena -n '__verbena_at trace info' -s d -l decode-as -d 'what another UDP port carries: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated' -r
complete -c verbena -n '__verbena_at trace info' -l roce-port -d 'another UDP port of RoCEv2, as --decode-as PORT=roce' -r
complete -c verbena -n '__verbena_at trace info' -l top -d 'show so many conversations, those with most packets first' -r
complete -c verbena -n '__verbena_at trace info' -l json -d 'print one JSON document, with all conversations'
complete -c verbena -n '__verbena_at trace info' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at trace info' -F
complete -c verbena -n '__verbena_at trace page' -s o -l out -d 'the page to write; - for standard output' -r -F
complete -c verbena -n '__verbena_at trace page' -l open -d 'open it in the browser' -f -a 'yes no'
complete -c verbena -n '__verbena_at trace page' -l json -d 'print the path of the page as one JSON document'
complete -c verbena -n '__verbena_at trace page' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at trace convert' -s d -l decode-as -d 'what another UDP port carries: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated' -r
complete -c verbena -n '__verbena_at trace convert' -l roce-port -d 'another UDP port of RoCEv2, as --decode-as PORT=roce' -r
complete -c verbena -n '__verbena_at trace convert' -l format -d 'format of the output' -r -f -a 'pcap pcapng'
complete -c verbena -n '__verbena_at trace convert' -l micro -d 'pcap with microseconds instead of nanoseconds, for old readers'
complete -c verbena -n '__verbena_at trace convert' -s f -l filter -d 'only packets for which this is true: see verbena trace show --help' -r
complete -c verbena -n '__verbena_at trace convert' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at trace convert' -F
complete -c verbena -f -n '__verbena_at traffic' -a server -d 'answer requests with flows of the size that they ask for'
complete -c verbena -f -n '__verbena_at traffic' -a client -d 'send the requests of a configuration to its servers'
complete -c verbena -f -n '__verbena_at traffic' -a merge -d 'make one result of those of several clients'
complete -c verbena -f -n '__verbena_at traffic' -a fit -d 'write a configuration that generates traffic like that of a capture'
complete -c verbena -f -n '__verbena_at traffic' -a cdf -d 'draw a distribution of sizes, or list those that have names'
complete -c verbena -n '__verbena_at traffic' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at traffic server' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at traffic server' -s x -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at traffic server' -s i -l ib-port -d 'port of the adapter' -r
complete -c verbena -n '__verbena_at traffic server' -s p -l port -d 'TCP port' -r
complete -c verbena -n '__verbena_at traffic server' -l source -d 'own address to listen on' -r
complete -c verbena -n '__verbena_at traffic server' -l once -d 'end after one client'
complete -c verbena -n '__verbena_at traffic server' -l json -d 'print one JSON document for each client that has ended, on a line'
complete -c verbena -n '__verbena_at traffic server' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at traffic client' -l dry-run -d 'write the schedule and send nothing'
complete -c verbena -n '__verbena_at traffic client' -l pcap -d 'write the packets that would travel, and send nothing' -r -F
complete -c verbena -n '__verbena_at traffic client' -l rocev1 -d 'with --pcap: packets of RoCEv1 (Ethertype 0x8915) instead of RoCEv2'
complete -c verbena -n '__verbena_at traffic client' -l seed -d 'another seed' -r
complete -c verbena -n '__verbena_at traffic client' -l count -d 'end after so many requests' -r
complete -c verbena -n '__verbena_at traffic client' -l duration -d 'end after this time' -r
complete -c verbena -n '__verbena_at traffic client' -l load -d 'another share of the bandwidth, in all phases' -r
complete -c verbena -n '__verbena_at traffic client' -l bandwidth -d 'what a load of 1 is, such as 25Gbps' -r
complete -c verbena -n '__verbena_at traffic client' -l client -d 'which of several clients this is' -r
complete -c verbena -n '__verbena_at traffic client' -s i -l ib-port -d 'port of the adapter' -r
complete -c verbena -n '__verbena_at traffic client' -s R -l rdma_cm -d 'let the RDMA CM connect the queue pairs'
complete -c verbena -n '__verbena_at traffic client' -l wait -d 'retry for this long while a server does not listen' -r
complete -c verbena -n '__verbena_at traffic client' -l out -d 'where results are kept' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at traffic client' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at traffic client' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at traffic client' -s x -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at traffic client' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at traffic merge' -l out -d 'where the merged results go' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at traffic merge' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at traffic merge' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at traffic merge' -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at traffic fit' -s d -l decode-as -d 'what another UDP port carries: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated' -r
complete -c verbena -n '__verbena_at traffic fit' -l roce-port -d 'another UDP port of RoCEv2, as --decode-as PORT=roce' -r
complete -c verbena -n '__verbena_at traffic fit' -s o -l out -d 'the configuration' -r -F
complete -c verbena -n '__verbena_at traffic fit' -l all -d 'a configuration for each host that sends, as DIR/ADDRESS.yaml' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at traffic fit' -l client -d 'the host whose messages count' -r
complete -c verbena -n '__verbena_at traffic fit' -l server -d 'host or host:port in the place of those captured, may be repeated' -r
complete -c verbena -n '__verbena_at traffic fit' -l scale -d 'times as many requests per second' -r
complete -c verbena -n '__verbena_at traffic fit' -l json -d 'print the fit as one JSON document, and no configuration'
complete -c verbena -n '__verbena_at traffic fit' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at traffic cdf' -l interpolation -d 'between rows' -r -f -a 'linear log inverse'
complete -c verbena -n '__verbena_at traffic cdf' -l unit -d 'what 1 in the column of sizes of a file stands for, such as 1460' -r
complete -c verbena -n '__verbena_at traffic cdf' -l json -d 'print one JSON document'
complete -c verbena -n '__verbena_at traffic cdf' -s h -l help -d 'print help'
complete -c verbena -f -n '__verbena_at collect' -a counters -d 'counters of all RDMA devices in one vocabulary, with rates'
complete -c verbena -f -n '__verbena_at collect' -a l2 -d 'interfaces that carry RoCE: MTU, PFC, DSCP, ECN, GIDs, with findings'
complete -c verbena -f -n '__verbena_at collect' -a trace -d 'RoCE packets of interfaces into pcap or pcapng files'
complete -c verbena -f -n '__verbena_at collect' -a session -d 'all of it in a folder; collect --out DIR is the same'
complete -c verbena -n '__verbena_at collect' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at collect counters' -l sysfs-root -d 'read a recorded tree instead: a copy of /sys, or a folder with sys and proc' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at collect counters' -s d -l device -d 'only these devices, with commas between them' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at collect counters' -l ib-port -d 'only these ports, with commas between them' -r
complete -c verbena -n '__verbena_at collect counters' -l interval -d 'read again after so many seconds' -r
complete -c verbena -n '__verbena_at collect counters' -l count -d 'end after so many readings' -r
complete -c verbena -n '__verbena_at collect counters' -l qp -d 'counters of queue pairs, too, where the kernel has them: in the table and in JSON'
complete -c verbena -n '__verbena_at collect counters' -l all -d 'counters that are zero, too'
complete -c verbena -n '__verbena_at collect counters' -l json -d 'print JSON'
complete -c verbena -n '__verbena_at collect counters' -l csv -d 'print comma-separated values'
complete -c verbena -n '__verbena_at collect counters' -l prometheus -d 'print the text that Prometheus reads'
complete -c verbena -n '__verbena_at collect counters' -l listen -d 'serve that text at /metrics of this port of 127.0.0.1, or of another address'
complete -c verbena -n '__verbena_at collect counters' -l token-file -d 'what whoever asks at --listen must know' -r -F
complete -c verbena -n '__verbena_at collect counters' -l no-token -d 'with --listen: everybody who reaches the address may read the counters'
complete -c verbena -n '__verbena_at collect counters' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at collect l2' -l sysfs-root -d 'read a recorded tree instead: a copy of /sys, or a folder with sys and proc' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at collect l2' -l json -d 'print one JSON document'
complete -c verbena -n '__verbena_at collect l2' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at collect trace' -s i -l interface -d 'interfaces, with commas between them, or any' -r
complete -c verbena -n '__verbena_at collect trace' -l filter -d 'roce, v1, v2, or all packets' -r -f -a 'roce v1 v2 all'
complete -c verbena -n '__verbena_at collect trace' -l roce-port -d 'UDP ports of RoCEv2, with commas between them' -r
complete -c verbena -n '__verbena_at collect trace' -s s -l snap-length -d 'bytes of each packet that are kept' -r
complete -c verbena -n '__verbena_at collect trace' -l headers -d 'headers only, and management datagrams'
complete -c verbena -n '__verbena_at collect trace' -l anonymise -d 'map addresses and keys, without payload'
complete -c verbena -n '__verbena_at collect trace' -l anonymise-key -d 'the same, with the contents of this file as the key' -r -F
complete -c verbena -n '__verbena_at collect trace' -l rotate-size -d 'begin another file after so many million bytes' -r
complete -c verbena -n '__verbena_at collect trace' -l rotate-time -d 'begin another file after so long' -r
complete -c verbena -n '__verbena_at collect trace' -l rotate-files -d 'delete the oldest file when there are more' -r
complete -c verbena -n '__verbena_at collect trace' -l buffer -d 'room for packets that have not been written yet, of each interface' -r
complete -c verbena -n '__verbena_at collect trace' -l no-promiscuous -d 'no frames for other hosts'
complete -c verbena -n '__verbena_at collect trace' -s r -l read -d 'a capture to read instead; - for standard input' -r -F
complete -c verbena -n '__verbena_at collect trace' -s w -l write -d 'the file to write; - for standard output' -r -F
complete -c verbena -n '__verbena_at collect trace' -s c -l count -d 'end after so many packets' -r
complete -c verbena -n '__verbena_at collect trace' -l duration -d 'end after so long' -r
complete -c verbena -n '__verbena_at collect trace' -l json -d 'print what was captured as one JSON document'
complete -c verbena -n '__verbena_at collect trace' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at collect session' -s i -l interface -d 'interfaces, with commas between them, or any' -r
complete -c verbena -n '__verbena_at collect session' -l filter -d 'roce, v1, v2, or all packets' -r -f -a 'roce v1 v2 all'
complete -c verbena -n '__verbena_at collect session' -l roce-port -d 'UDP ports of RoCEv2, with commas between them' -r
complete -c verbena -n '__verbena_at collect session' -s s -l snap-length -d 'bytes of each packet that are kept' -r
complete -c verbena -n '__verbena_at collect session' -l headers -d 'headers only, and management datagrams'
complete -c verbena -n '__verbena_at collect session' -l anonymise -d 'map addresses and keys, without payload'
complete -c verbena -n '__verbena_at collect session' -l anonymise-key -d 'the same, with the contents of this file as the key' -r -F
complete -c verbena -n '__verbena_at collect session' -l rotate-size -d 'begin another file after so many million bytes' -r
complete -c verbena -n '__verbena_at collect session' -l rotate-time -d 'begin another file after so long' -r
complete -c verbena -n '__verbena_at collect session' -l rotate-files -d 'delete the oldest file when there are more' -r
complete -c verbena -n '__verbena_at collect session' -l buffer -d 'room for packets that have not been written yet, of each interface' -r
complete -c verbena -n '__verbena_at collect session' -l no-promiscuous -d 'no frames for other hosts'
complete -c verbena -n '__verbena_at collect session' -l sysfs-root -d 'read a recorded tree instead: a copy of /sys, or a folder with sys and proc' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at collect session' -s o -l out -d 'the folder, which is made' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at collect session' -l interval -d 'time between readings of the counters' -r
complete -c verbena -n '__verbena_at collect session' -l duration -d 'end after so long' -r
complete -c verbena -n '__verbena_at collect session' -l compress -d 'compression of the trace' -r -f -a 'none gzip zstd'
complete -c verbena -n '__verbena_at collect session' -l no-trace -d 'no packets'
complete -c verbena -n '__verbena_at collect session' -l json -d 'print what was collected as one JSON document'
complete -c verbena -n '__verbena_at collect session' -s h -l help -d 'print help'
complete -c verbena -f -n '__verbena_at monitor' -a collector -d 'windows of many agents together, over HTTP or HTTPS'
complete -c verbena -f -n '__verbena_at monitor' -a compare -d 'exact counting beside the sketches: the errors, and whether bounds hold'
complete -c verbena -f -n '__verbena_at monitor' -a report -d 'a report of saved windows'
complete -c verbena -f -n '__verbena_at monitor' -a watch -d 'windows of packets from interfaces, files or standard input; monitor FILE is the same'
complete -c verbena -n '__verbena_at monitor' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at monitor collector' -l window -d 'length of a window' -r
complete -c verbena -n '__verbena_at monitor collector' -l memory -d 'memory for all that grows with traffic' -r
complete -c verbena -n '__verbena_at monitor collector' -l page -d 'serve a live page: a port of loopback, or address:port'
complete -c verbena -n '__verbena_at monitor collector' -l page-token-file -d 'what whoever opens the page must know' -r -F
complete -c verbena -n '__verbena_at monitor collector' -l page-no-token -d 'dangerous: every user of this host may open the page, on loopback only'
complete -c verbena -n '__verbena_at monitor collector' -l page-tls-key -d 'private key of the page, PEM' -r -F
complete -c verbena -n '__verbena_at monitor collector' -l page-tls-cert -d 'certificate of the page, PEM' -r -F
complete -c verbena -n '__verbena_at monitor collector' -l by -d 'a key to list; may be repeated' -r
complete -c verbena -n '__verbena_at monitor collector' -l of -d 'what is summed: bytes, packets, messages, or an event' -r
complete -c verbena -n '__verbena_at monitor collector' -l top -d 'rows of each list' -r
complete -c verbena -n '__verbena_at monitor collector' -l json -d 'print one JSON document for each window, a line each'
complete -c verbena -n '__verbena_at monitor collector' -l view -d 'lines, or a screen as of top' -r -f -a 'lines top'
complete -c verbena -n '__verbena_at monitor collector' -l save -d 'add each window to this file, for monitor report' -r -F
complete -c verbena -n '__verbena_at monitor collector' -l alert -d 'say when a number is past a threshold; may be repeated' -r
complete -c verbena -n '__verbena_at monitor collector' -l alert-log -d 'add alerts to this file as JSON lines' -r -F
complete -c verbena -n '__verbena_at monitor collector' -l alert-webhook -d 'POST each alert there as JSON' -r
complete -c verbena -n '__verbena_at monitor collector' -l alertmanager -d 'POST alerts there as Prometheus\' Alertmanager takes them' -r
complete -c verbena -n '__verbena_at monitor collector' -l listen -d 'a port of loopback, or address:port' -r
complete -c verbena -n '__verbena_at monitor collector' -l token-file -d 'what agents must know' -r -F
complete -c verbena -n '__verbena_at monitor collector' -l tls-key -d 'private key, PEM' -r -F
complete -c verbena -n '__verbena_at monitor collector' -l tls-cert -d 'certificate, PEM' -r -F
complete -c verbena -n '__verbena_at monitor collector' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at monitor compare' -s d -l decode-as -d 'what another UDP port carries: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated' -r
complete -c verbena -n '__verbena_at monitor compare' -l roce-port -d 'another UDP port of RoCEv2, as --decode-as PORT=roce' -r
complete -c verbena -n '__verbena_at monitor compare' -l window -d 'length of a window' -r
complete -c verbena -n '__verbena_at monitor compare' -l memory -d 'memory for all that grows with traffic' -r
complete -c verbena -n '__verbena_at monitor compare' -l by -d 'a key to compare; may be repeated' -r
complete -c verbena -n '__verbena_at monitor compare' -l of -d 'what is summed: bytes, packets, messages, or an event' -r
complete -c verbena -n '__verbena_at monitor compare' -l threshold -d 'of the sum of all keys, from which a key is a heavy hitter' -r
complete -c verbena -n '__verbena_at monitor compare' -l top -d 'how many of the largest keys are compared' -r
complete -c verbena -n '__verbena_at monitor compare' -l exact-memory -d 'memory for exact counting, at most' -r
complete -c verbena -n '__verbena_at monitor compare' -l seed -d 'of the sketches, for a result that can be repeated' -r
complete -c verbena -n '__verbena_at monitor compare' -l merge -d 'compare the files together, as those of agents of a collector'
complete -c verbena -n '__verbena_at monitor compare' -l json -d 'print one JSON document for each file, a line each'
complete -c verbena -n '__verbena_at monitor compare' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at monitor report' -l page -d 'serve a live page: a port of loopback, or address:port'
complete -c verbena -n '__verbena_at monitor report' -l page-token-file -d 'what whoever opens the page must know' -r -F
complete -c verbena -n '__verbena_at monitor report' -l page-no-token -d 'dangerous: every user of this host may open the page, on loopback only'
complete -c verbena -n '__verbena_at monitor report' -l page-tls-key -d 'private key of the page, PEM' -r -F
complete -c verbena -n '__verbena_at monitor report' -l page-tls-cert -d 'certificate of the page, PEM' -r -F
complete -c verbena -n '__verbena_at monitor report' -l by -d 'a key to list; may be repeated' -r
complete -c verbena -n '__verbena_at monitor report' -l of -d 'what is summed: bytes, packets, messages, or an event' -r
complete -c verbena -n '__verbena_at monitor report' -l top -d 'rows of each list' -r
complete -c verbena -n '__verbena_at monitor report' -l json -d 'print one JSON document for each window, a line each'
complete -c verbena -n '__verbena_at monitor report' -l per -d 'a report for each time of this length' -r
complete -c verbena -n '__verbena_at monitor report' -l from -d 'leave out windows before that, ISO 8601' -r
complete -c verbena -n '__verbena_at monitor report' -l to -d 'leave out windows from then on' -r
complete -c verbena -n '__verbena_at monitor report' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at monitor watch' -s d -l decode-as -d 'what another UDP port carries: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated' -r
complete -c verbena -n '__verbena_at monitor watch' -l roce-port -d 'another UDP port of RoCEv2, as --decode-as PORT=roce' -r
complete -c verbena -n '__verbena_at monitor watch' -l window -d 'length of a window' -r
complete -c verbena -n '__verbena_at monitor watch' -l memory -d 'memory for all that grows with traffic' -r
complete -c verbena -n '__verbena_at monitor watch' -l page -d 'serve a live page: a port of loopback, or address:port'
complete -c verbena -n '__verbena_at monitor watch' -l page-token-file -d 'what whoever opens the page must know' -r -F
complete -c verbena -n '__verbena_at monitor watch' -l page-no-token -d 'dangerous: every user of this host may open the page, on loopback only'
complete -c verbena -n '__verbena_at monitor watch' -l page-tls-key -d 'private key of the page, PEM' -r -F
complete -c verbena -n '__verbena_at monitor watch' -l page-tls-cert -d 'certificate of the page, PEM' -r -F
complete -c verbena -n '__verbena_at monitor watch' -l by -d 'a key to list; may be repeated' -r
complete -c verbena -n '__verbena_at monitor watch' -l of -d 'what is summed: bytes, packets, messages, or an event' -r
complete -c verbena -n '__verbena_at monitor watch' -l top -d 'rows of each list' -r
complete -c verbena -n '__verbena_at monitor watch' -l json -d 'print one JSON document for each window, a line each'
complete -c verbena -n '__verbena_at monitor watch' -l view -d 'lines, or a screen as of top' -r -f -a 'lines top'
complete -c verbena -n '__verbena_at monitor watch' -l save -d 'add each window to this file, for monitor report' -r -F
complete -c verbena -n '__verbena_at monitor watch' -l alert -d 'say when a number is past a threshold; may be repeated' -r
complete -c verbena -n '__verbena_at monitor watch' -l alert-log -d 'add alerts to this file as JSON lines' -r -F
complete -c verbena -n '__verbena_at monitor watch' -l alert-webhook -d 'POST each alert there as JSON' -r
complete -c verbena -n '__verbena_at monitor watch' -l alertmanager -d 'POST alerts there as Prometheus\' Alertmanager takes them' -r
complete -c verbena -n '__verbena_at monitor watch' -l collector -d 'send windows to a collector, and print none' -r
complete -c verbena -n '__verbena_at monitor watch' -l token-file -d 'the collector\'s token' -r -F
complete -c verbena -n '__verbena_at monitor watch' -l ca -d 'certificate of the collector\'s authority, PEM' -r -F
complete -c verbena -n '__verbena_at monitor watch' -l name -d 'how the collector calls this agent' -r
complete -c verbena -n '__verbena_at monitor watch' -s i -l interface -d 'interfaces of this host, with commas between them, or any' -r
complete -c verbena -n '__verbena_at monitor watch' -l tap -d 'watch the roce devices of a command, which is behind --'
complete -c verbena -n '__verbena_at monitor watch' -l duration -d 'end after so long' -r
complete -c verbena -n '__verbena_at monitor watch' -l metrics -d 'serve metrics for Prometheus at /metrics of this port of 127.0.0.1'
complete -c verbena -n '__verbena_at monitor watch' -l metrics-token-file -d 'what Prometheus must know' -r -F
complete -c verbena -n '__verbena_at monitor watch' -l metrics-no-token -d 'everybody who reaches the address may read the metrics'
complete -c verbena -n '__verbena_at monitor watch' -l workers -d 'threads for each file, each for some pairs of hosts' -r
complete -c verbena -n '__verbena_at monitor watch' -s h -l help -d 'print help'
complete -c verbena -f -n '__verbena_at replay' -a packets -d 'the packets, with other addresses, queue pairs, keys, PSNs'
complete -c verbena -f -n '__verbena_at replay' -a messages -d 'the messages: operation, size, time, what each waited for'
complete -c verbena -f -n '__verbena_at replay' -a server -d 'the other end of a replay of messages'
complete -c verbena -f -n '__verbena_at replay' -a client -d 'perform the messages with queue pairs, and compare'
complete -c verbena -n '__verbena_at replay' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at replay packets' -s d -l decode-as -d 'what another UDP port carries: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated' -r
complete -c verbena -n '__verbena_at replay packets' -l roce-port -d 'another UDP port of RoCEv2, as --decode-as PORT=roce' -r
complete -c verbena -n '__verbena_at replay packets' -l to -d 'a capture: .pcap or .pcapng, compressed if .gz follows; - for standard output' -r -F
complete -c verbena -n '__verbena_at replay packets' -s i -l interface -d 'a network interface of this host' -r
complete -c verbena -n '__verbena_at replay packets' -l udp -d 'datagrams to a host; port 4791 unless given'
complete -c verbena -n '__verbena_at replay packets' -l mac -d 'Ethernet address of the frame' -r
complete -c verbena -n '__verbena_at replay packets' -l ip -d 'IPv4 or IPv6 address or network, also in GIDs and messages of the CM' -r
complete -c verbena -n '__verbena_at replay packets' -l lid -d 'LID of native InfiniBand' -r
complete -c verbena -n '__verbena_at replay packets' -l source-port -d 'UDP source port'
complete -c verbena -n '__verbena_at replay packets' -l destination-port -d 'UDP destination port'
complete -c verbena -n '__verbena_at replay packets' -l dscp -d 'DSCP of the IP header or GRH'
complete -c verbena -n '__verbena_at replay packets' -l ecn -d 'ECN bits of it, 0 to 3'
complete -c verbena -n '__verbena_at replay packets' -l pkey -d 'P_Key'
complete -c verbena -n '__verbena_at replay packets' -l qpn -d 'queue pair, of that host only'
complete -c verbena -n '__verbena_at replay packets' -l psn -d 'PSNs of requests to that queue pair and of their responses, or all; +n or -n'
complete -c verbena -n '__verbena_at replay packets' -l msn -d 'MSNs of responses to that queue pair, or all'
complete -c verbena -n '__verbena_at replay packets' -l rkey -d 'key of remote memory'
complete -c verbena -n '__verbena_at replay packets' -l va -d 'virtual addresses from first to last'
complete -c verbena -n '__verbena_at replay packets' -l map -d 'mappings in a file, one a line: qpn 0x11=0x200' -r -F
complete -c verbena -n '__verbena_at replay packets' -s f -l filter -d 'only packets for which this is true: see verbena trace show --help' -r
complete -c verbena -n '__verbena_at replay packets' -l bad -d 'damaged packets: keep, drop, mend' -r -f -a 'keep drop mend'
complete -c verbena -n '__verbena_at replay packets' -l others -d 'packets that are no RDMA, too; only --mac changes them'
complete -c verbena -n '__verbena_at replay packets' -l speed -d 'of the captured time: 2x is twice as fast, top as fast as it goes' -r
complete -c verbena -n '__verbena_at replay packets' -l pps -d 'packets per second, whatever their times are: 100k' -r
complete -c verbena -n '__verbena_at replay packets' -l rate -d 'bits per second of whole frames: 10G' -r
complete -c verbena -n '__verbena_at replay packets' -l json -d 'print one JSON document'
complete -c verbena -n '__verbena_at replay packets' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at replay packets' -F
complete -c verbena -n '__verbena_at replay messages' -s d -l decode-as -d 'what another UDP port carries: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated' -r
complete -c verbena -n '__verbena_at replay messages' -l roce-port -d 'another UDP port of RoCEv2, as --decode-as PORT=roce' -r
complete -c verbena -n '__verbena_at replay messages' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at replay messages' -F
complete -c verbena -n '__verbena_at replay server' -s p -l port -d 'TCP port on which the ends meet' -r
complete -c verbena -n '__verbena_at replay server' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at replay server' -s x -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at replay server' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at replay server' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at replay server' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at replay server' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at replay client' -l decode-as -d 'what another UDP port carries: roce, vxlan, geneve, mpls, vxlan-gpe, gtpu, tzsp; may be repeated' -r
complete -c verbena -n '__verbena_at replay client' -l roce-port -d 'another UDP port of RoCEv2, as --decode-as PORT=roce' -r
complete -c verbena -n '__verbena_at replay client' -l mode -d 'closed or open loop' -r -f -a 'closed open'
complete -c verbena -n '__verbena_at replay client' -l speed -d 'of the captured time: 2x is twice as fast, top without pauses' -r
complete -c verbena -n '__verbena_at replay client' -l depth -d 'outstanding requests of a queue pair' -r
complete -c verbena -n '__verbena_at replay client' -s p -l port -d 'TCP port on which the ends meet' -r
complete -c verbena -n '__verbena_at replay client' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at replay client' -s x -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at replay client' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at replay client' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at replay client' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at replay client' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at run' -s d -l device -d 'adapter: shm:NAME in shared memory, roce:ADDRESS or roce on the network; several times: several' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at run' -l name -d 'as the program sees it; several times: for several' -r
complete -c verbena -n '__verbena_at run' -l faults -d 'lose, double, delay, reorder or damage packets: loss=3%,reordering=1%,delay=2ms' -r
complete -c verbena -n '__verbena_at run' -l tap -d 'write packets to this file: pcapng, or pcap by its ending; %p is the process id' -r -F
complete -c verbena -n '__verbena_at run' -l explain -d 'say on standard error why a verb, an event of the RDMA CM or a management datagram failed, once for each program'
complete -c verbena -n '__verbena_at run' -l trace -d 'write each command, work request, completion, event and datagram; a file by = alone: --trace=FILE' -F
complete -c verbena -n '__verbena_at run' -l counters -d 'say at the end on standard error what programs and adapters have counted'
complete -c verbena -n '__verbena_at run' -l json -d 'write the trace and the counters as JSON, an object a line'
complete -c verbena -n '__verbena_at run' -l strict -d 'stop at doorbells, so that ibv_post_send has the kernel\'s errors; and for libibverbs before rdma-core 22'
complete -c verbena -n '__verbena_at run' -l verbose -d 'say on standard error what programs open, and which calls fail'
complete -c verbena -n '__verbena_at run' -s h -l help -d 'print help'
complete -c verbena -f -n '__verbena_at gateway' -a convert -d 'samples from one format to another'
complete -c verbena -f -n '__verbena_at gateway' -a compare -d 'files of samples with each other'
complete -c verbena -f -n '__verbena_at gateway' -a hook -d 'samples through a hook'
complete -c verbena -f -n '__verbena_at gateway' -a node -d 'run the nodes and paths of a configuration'
complete -c verbena -f -n '__verbena_at gateway' -a pipe -d 'standard input to a node, and the node to standard output'
complete -c verbena -f -n '__verbena_at gateway' -a signal -d 'generate samples'
complete -c verbena -f -n '__verbena_at gateway' -a check -d 'whether a configuration is right'
complete -c verbena -f -n '__verbena_at gateway' -a graph -d 'draw the nodes and paths of a configuration'
complete -c verbena -n '__verbena_at gateway' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at gateway convert' -s d -l log -d 'least important lines that are said: trace, debug, info, warning, error, critical, off' -r
complete -c verbena -n '__verbena_at gateway convert' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at gateway convert' -s i -l input-format -d 'of standard input' -r
complete -c verbena -n '__verbena_at gateway convert' -s o -l output-format -d 'of standard output' -r
complete -c verbena -n '__verbena_at gateway convert' -s t -l types -d 'number and types of the values' -r
complete -c verbena -n '__verbena_at gateway convert' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at gateway compare' -s d -l log -d 'least important lines that are said: trace, debug, info, warning, error, critical, off' -r
complete -c verbena -n '__verbena_at gateway compare' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at gateway compare' -s e -l epsilon -d 'values and seconds may differ by as much' -r
complete -c verbena -n '__verbena_at gateway compare' -s v -l no-values -d 'leave values out'
complete -c verbena -n '__verbena_at gateway compare' -s T -l no-timestamp -d 'leave times out'
complete -c verbena -n '__verbena_at gateway compare' -s s -l no-sequence -d 'leave sequence numbers out'
complete -c verbena -n '__verbena_at gateway compare' -s f -l format -d 'of all files' -r
complete -c verbena -n '__verbena_at gateway compare' -s t -l types -d 'number and types of the values' -r
complete -c verbena -n '__verbena_at gateway compare' -l json -d 'print one JSON document'
complete -c verbena -n '__verbena_at gateway compare' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at gateway hook' -s d -l log -d 'least important lines that are said: trace, debug, info, warning, error, critical, off' -r
complete -c verbena -n '__verbena_at gateway hook' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at gateway hook' -s c -l config -d 'settings of the hook, as JSON' -r -F
complete -c verbena -n '__verbena_at gateway hook' -s f -l input-format -d 'of standard input' -r
complete -c verbena -n '__verbena_at gateway hook' -s F -l output-format -d 'of standard output' -r
complete -c verbena -n '__verbena_at gateway hook' -s t -l types -d 'number and types of the values' -r
complete -c verbena -n '__verbena_at gateway hook' -s v -l vectorize -d 'samples that are read at once' -r
complete -c verbena -n '__verbena_at gateway hook' -s o -l option -d 'a setting of the hook' -r
complete -c verbena -n '__verbena_at gateway hook' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at gateway node' -s d -l log -d 'least important lines that are said: trace, debug, info, warning, error, critical, off' -r
complete -c verbena -n '__verbena_at gateway node' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at gateway node' -s C -l capabilities -d 'print node-types, hooks, formats and requests of the API as JSON; nothing runs'
complete -c verbena -n '__verbena_at gateway node' -l duration -d 'stop after this time' -r
complete -c verbena -n '__verbena_at gateway node' -l no-token -d 'dangerous: whoever reaches the API may do everything'
complete -c verbena -n '__verbena_at gateway node' -l json -d 'print one JSON document at the end'
complete -c verbena -n '__verbena_at gateway node' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at gateway pipe' -s d -l log-level -d 'least important lines that are said: trace, debug, info, warning, error, critical, off' -r
complete -c verbena -n '__verbena_at gateway pipe' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at gateway pipe' -s f -l format -d 'of standard input and output' -r
complete -c verbena -n '__verbena_at gateway pipe' -s t -l types -d 'number and types of the values of standard input' -r
complete -c verbena -n '__verbena_at gateway pipe' -s o -l option -d 'a setting of the node' -r
complete -c verbena -n '__verbena_at gateway pipe' -s x -l swap -d 'swap the settings in and out of the node'
complete -c verbena -n '__verbena_at gateway pipe' -s s -l send -d 'only from standard input to the node'
complete -c verbena -n '__verbena_at gateway pipe' -s r -l receive -d 'only from the node to standard output'
complete -c verbena -n '__verbena_at gateway pipe' -s T -l timeout -d 'stop after this time' -r
complete -c verbena -n '__verbena_at gateway pipe' -s L -l limit-send -d 'stop after as many samples sent' -r
complete -c verbena -n '__verbena_at gateway pipe' -s l -l limit-receive -d 'stop after as many samples received' -r
complete -c verbena -n '__verbena_at gateway pipe' -l no-token -d 'dangerous: whoever reaches the API of a websocket server may do everything'
complete -c verbena -n '__verbena_at gateway pipe' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at gateway signal' -s d -l log -d 'least important lines that are said: trace, debug, info, warning, error, critical, off' -r
complete -c verbena -n '__verbena_at gateway signal' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at gateway signal' -s v -l values -d 'values of a sample' -r
complete -c verbena -n '__verbena_at gateway signal' -s r -l rate -d 'samples per second' -r
complete -c verbena -n '__verbena_at gateway signal' -s n -l no-realtime -d 'as fast as they are taken'
complete -c verbena -n '__verbena_at gateway signal' -s F -l frequency -d 'of the shape' -r
complete -c verbena -n '__verbena_at gateway signal' -s a -l amplitude -d 'of the shape' -r
complete -c verbena -n '__verbena_at gateway signal' -s D -l stddev -d 'of the steps of random' -r
complete -c verbena -n '__verbena_at gateway signal' -s o -l offset -d 'added to all values' -r
complete -c verbena -n '__verbena_at gateway signal' -s p -l phase -d 'of the shape' -r
complete -c verbena -n '__verbena_at gateway signal' -s l -l limit -d 'stop after as many samples, missed ones included' -r
complete -c verbena -n '__verbena_at gateway signal' -s f -l format -d 'of standard output' -r
complete -c verbena -n '__verbena_at gateway signal' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at gateway check' -l json -d 'print one JSON document'
complete -c verbena -n '__verbena_at gateway check' -s c -l check -d 'as for villas test-config: it always checks everything'
complete -c verbena -n '__verbena_at gateway check' -s D -l dump -d 'as for villas test-config, which prints nothing for it either'
complete -c verbena -n '__verbena_at gateway check' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at gateway check' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at gateway graph' -s f -l format -d 'text, svg, dot, json' -r
complete -c verbena -n '__verbena_at gateway graph' -s o -l output -d 'where to write' -r -F
complete -c verbena -n '__verbena_at gateway graph' -l json -d 'the same as --format json'
complete -c verbena -n '__verbena_at gateway graph' -s h -l help -d 'print help'
complete -c verbena -f -n '__verbena_at perf' -a send_lat -d 'half the round trip of SEND'
complete -c verbena -f -n '__verbena_at perf' -a send_bw -d 'bandwidth and message rate of SEND'
complete -c verbena -f -n '__verbena_at perf' -a write_lat -d 'half the round trip of RDMA WRITE'
complete -c verbena -f -n '__verbena_at perf' -a write_bw -d 'bandwidth and message rate of RDMA WRITE'
complete -c verbena -f -n '__verbena_at perf' -a read_lat -d 'time to completion of RDMA READ'
complete -c verbena -f -n '__verbena_at perf' -a read_bw -d 'bandwidth and message rate of RDMA READ'
complete -c verbena -f -n '__verbena_at perf' -a atomic_lat -d 'time to completion of atomics'
complete -c verbena -f -n '__verbena_at perf' -a atomic_bw -d 'bandwidth and message rate of atomics'
complete -c verbena -n '__verbena_at perf' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at perf send_lat' -s i -l ib-port -d 'port of the adapter' -r
complete -c verbena -n '__verbena_at perf send_lat' -s p -l port -d 'TCP port' -r
complete -c verbena -n '__verbena_at perf send_lat' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at perf send_lat' -s x -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at perf send_lat' -s s -l size -d 'size of messages' -r
complete -c verbena -n '__verbena_at perf send_lat' -s a -l all -d 'sizes 2, 4, … 2^23'
complete -c verbena -n '__verbena_at perf send_lat' -s n -l iters -d 'messages' -r
complete -c verbena -n '__verbena_at perf send_lat' -s D -l duration -d 'end the test after this time instead' -r
complete -c verbena -n '__verbena_at perf send_lat' -s f -l margin -d 'with -D: begin and end that are not measured' -r
complete -c verbena -n '__verbena_at perf send_lat' -l warmup -d 'messages before the measurement' -r
complete -c verbena -n '__verbena_at perf send_lat' -s t -l tx-depth -d 'send queue, used with --rate' -r
complete -c verbena -n '__verbena_at perf send_lat' -s r -l rx-depth -d 'receive queue' -r
complete -c verbena -n '__verbena_at perf send_lat' -s c -l connection -d 'RC, UC or UD' -r -f -a 'RC UC UD'
complete -c verbena -n '__verbena_at perf send_lat' -s m -l mtu -d 'path MTU' -r
complete -c verbena -n '__verbena_at perf send_lat' -s I -l inline_size -d 'largest message that is inline' -r
complete -c verbena -n '__verbena_at perf send_lat' -s e -l events -d 'sleep until a completion makes an event'
complete -c verbena -n '__verbena_at perf send_lat' -s y -l limit_msgrate -d 'fail below this rate, Mpps' -r
complete -c verbena -n '__verbena_at perf send_lat' -l limit-latency -d 'fail above: min, avg, stdev, max, p10 to p99.999' -r
complete -c verbena -n '__verbena_at perf send_lat' -l limit-lost -d 'fail if more messages are lost (UC, UD)' -r
complete -c verbena -n '__verbena_at perf send_lat' -s H -l report-histogram -d 'show every latency, sorted'
complete -c verbena -n '__verbena_at perf send_lat' -s U -l report-unsorted -d 'show every latency in the order of the messages'
complete -c verbena -n '__verbena_at perf send_lat' -l output -d 'show only this figure of each size' -r -f -a 'bandwidth message_rate latency'
complete -c verbena -n '__verbena_at perf send_lat' -l rate -d 'open loop: send at this rate, and count latency from the intended send time' -r
complete -c verbena -n '__verbena_at perf send_lat' -s S -l sl -d 'service level' -r
complete -c verbena -n '__verbena_at perf send_lat' -s u -l qp-timeout -d 'ACK timeout of 4.096 µs · 2^exponent' -r
complete -c verbena -n '__verbena_at perf send_lat' -l retry_count -d 'retries of a packet that is not acknowledged, 0 to 7' -r
complete -c verbena -n '__verbena_at perf send_lat' -l perform_warm_up -d 'accepted as by perftest; there is always a warm-up, see --warmup'
complete -c verbena -n '__verbena_at perf send_lat' -s F -l CPU-freq -d 'accepted as by perftest; the CPU frequency is not looked at'
complete -c verbena -n '__verbena_at perf send_lat' -s R -l rdma_cm -d 'let the RDMA CM connect the queue pairs'
complete -c verbena -n '__verbena_at perf send_lat' -l bind_source_ip -d 'own address of the TCP connection' -r
complete -c verbena -n '__verbena_at perf send_lat' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at perf send_lat' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at perf send_lat' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at perf send_lat' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at perf send_lat' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at perf send_bw' -s i -l ib-port -d 'port of the adapter' -r
complete -c verbena -n '__verbena_at perf send_bw' -s p -l port -d 'TCP port' -r
complete -c verbena -n '__verbena_at perf send_bw' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at perf send_bw' -s x -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at perf send_bw' -s s -l size -d 'size of messages' -r
complete -c verbena -n '__verbena_at perf send_bw' -s a -l all -d 'sizes 2, 4, … 2^23'
complete -c verbena -n '__verbena_at perf send_bw' -s n -l iters -d 'messages of each queue pair' -r
complete -c verbena -n '__verbena_at perf send_bw' -s D -l duration -d 'end the test after this time instead' -r
complete -c verbena -n '__verbena_at perf send_bw' -s f -l margin -d 'with -D: begin and end that are not measured' -r
complete -c verbena -n '__verbena_at perf send_bw' -l warmup -d 'messages before the measurement' -r
complete -c verbena -n '__verbena_at perf send_bw' -s t -l tx-depth -d 'send queue' -r
complete -c verbena -n '__verbena_at perf send_bw' -s r -l rx-depth -d 'receive queue' -r
complete -c verbena -n '__verbena_at perf send_bw' -s c -l connection -d 'RC, UC or UD' -r -f -a 'RC UC UD'
complete -c verbena -n '__verbena_at perf send_bw' -s m -l mtu -d 'path MTU' -r
complete -c verbena -n '__verbena_at perf send_bw' -s I -l inline_size -d 'largest message that is inline' -r
complete -c verbena -n '__verbena_at perf send_bw' -s e -l events -d 'sleep until a completion makes an event'
complete -c verbena -n '__verbena_at perf send_bw' -s q -l qp -d 'queue pairs' -r
complete -c verbena -n '__verbena_at perf send_bw' -s l -l post_list -d 'work requests that are posted together' -r
complete -c verbena -n '__verbena_at perf send_bw' -s b -l bidirectional -d 'both ends send; the columns are the sum'
complete -c verbena -n '__verbena_at perf send_bw' -s Q -l cq-mod -d 'one of so many requests makes a completion' -r
complete -c verbena -n '__verbena_at perf send_bw' -s N -l noPeak -d 'show no peak'
complete -c verbena -n '__verbena_at perf send_bw' -l report_gbits -d 'Gb/sec instead of MiB/sec'
complete -c verbena -n '__verbena_at perf send_bw' -s w -l limit_bw -d 'fail below this average bandwidth, in the unit of the report' -r
complete -c verbena -n '__verbena_at perf send_bw' -s y -l limit_msgrate -d 'fail below this message rate, Mpps' -r
complete -c verbena -n '__verbena_at perf send_bw' -l output -d 'show only this figure of each size' -r -f -a 'bandwidth message_rate latency'
complete -c verbena -n '__verbena_at perf send_bw' -l rate -d 'each sender sends at this rate' -r
complete -c verbena -n '__verbena_at perf send_bw' -l rate_limit -d 'the same in the unit of --rate_units' -r
complete -c verbena -n '__verbena_at perf send_bw' -l rate_units -d 'of --rate_limit: M (MiB/sec), g (Gb/sec) or p (messages/s)' -r
complete -c verbena -n '__verbena_at perf send_bw' -s S -l sl -d 'service level' -r
complete -c verbena -n '__verbena_at perf send_bw' -s u -l qp-timeout -d 'ACK timeout of 4.096 µs · 2^exponent' -r
complete -c verbena -n '__verbena_at perf send_bw' -l retry_count -d 'retries of a packet that is not acknowledged, 0 to 7' -r
complete -c verbena -n '__verbena_at perf send_bw' -l perform_warm_up -d 'accepted as by perftest; there is always a warm-up, see --warmup'
complete -c verbena -n '__verbena_at perf send_bw' -s F -l CPU-freq -d 'accepted as by perftest; the CPU frequency is not looked at'
complete -c verbena -n '__verbena_at perf send_bw' -s R -l rdma_cm -d 'let the RDMA CM connect the queue pairs'
complete -c verbena -n '__verbena_at perf send_bw' -l bind_source_ip -d 'own address of the TCP connection' -r
complete -c verbena -n '__verbena_at perf send_bw' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at perf send_bw' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at perf send_bw' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at perf send_bw' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at perf send_bw' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at perf write_lat' -s i -l ib-port -d 'port of the adapter' -r
complete -c verbena -n '__verbena_at perf write_lat' -s p -l port -d 'TCP port' -r
complete -c verbena -n '__verbena_at perf write_lat' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at perf write_lat' -s x -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at perf write_lat' -s s -l size -d 'size of messages' -r
complete -c verbena -n '__verbena_at perf write_lat' -s a -l all -d 'sizes 2, 4, … 2^23'
complete -c verbena -n '__verbena_at perf write_lat' -s n -l iters -d 'messages' -r
complete -c verbena -n '__verbena_at perf write_lat' -s D -l duration -d 'end the test after this time instead' -r
complete -c verbena -n '__verbena_at perf write_lat' -s f -l margin -d 'with -D: begin and end that are not measured' -r
complete -c verbena -n '__verbena_at perf write_lat' -l warmup -d 'messages before the measurement' -r
complete -c verbena -n '__verbena_at perf write_lat' -s t -l tx-depth -d 'send queue, used with --rate' -r
complete -c verbena -n '__verbena_at perf write_lat' -s c -l connection -d 'RC or UC' -r -f -a 'RC UC'
complete -c verbena -n '__verbena_at perf write_lat' -s m -l mtu -d 'path MTU' -r
complete -c verbena -n '__verbena_at perf write_lat' -s I -l inline_size -d 'largest message that is inline' -r
complete -c verbena -n '__verbena_at perf write_lat' -s y -l limit_msgrate -d 'fail below this rate, Mpps' -r
complete -c verbena -n '__verbena_at perf write_lat' -l limit-latency -d 'fail above: min, avg, stdev, max, p10 to p99.999' -r
complete -c verbena -n '__verbena_at perf write_lat' -l limit-lost -d 'fail if more messages are lost (UC, UD)' -r
complete -c verbena -n '__verbena_at perf write_lat' -s H -l report-histogram -d 'show every latency, sorted'
complete -c verbena -n '__verbena_at perf write_lat' -s U -l report-unsorted -d 'show every latency in the order of the messages'
complete -c verbena -n '__verbena_at perf write_lat' -l output -d 'show only this figure of each size' -r -f -a 'bandwidth message_rate latency'
complete -c verbena -n '__verbena_at perf write_lat' -l rate -d 'open loop: send at this rate, and count latency from the intended send time' -r
complete -c verbena -n '__verbena_at perf write_lat' -s S -l sl -d 'service level' -r
complete -c verbena -n '__verbena_at perf write_lat' -s u -l qp-timeout -d 'ACK timeout of 4.096 µs · 2^exponent' -r
complete -c verbena -n '__verbena_at perf write_lat' -l retry_count -d 'retries of a packet that is not acknowledged, 0 to 7' -r
complete -c verbena -n '__verbena_at perf write_lat' -l perform_warm_up -d 'accepted as by perftest; there is always a warm-up, see --warmup'
complete -c verbena -n '__verbena_at perf write_lat' -s F -l CPU-freq -d 'accepted as by perftest; the CPU frequency is not looked at'
complete -c verbena -n '__verbena_at perf write_lat' -s R -l rdma_cm -d 'let the RDMA CM connect the queue pairs'
complete -c verbena -n '__verbena_at perf write_lat' -l bind_source_ip -d 'own address of the TCP connection' -r
complete -c verbena -n '__verbena_at perf write_lat' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at perf write_lat' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at perf write_lat' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at perf write_lat' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at perf write_lat' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at perf write_bw' -s i -l ib-port -d 'port of the adapter' -r
complete -c verbena -n '__verbena_at perf write_bw' -s p -l port -d 'TCP port' -r
complete -c verbena -n '__verbena_at perf write_bw' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at perf write_bw' -s x -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at perf write_bw' -s s -l size -d 'size of messages' -r
complete -c verbena -n '__verbena_at perf write_bw' -s a -l all -d 'sizes 2, 4, … 2^23'
complete -c verbena -n '__verbena_at perf write_bw' -s n -l iters -d 'messages of each queue pair' -r
complete -c verbena -n '__verbena_at perf write_bw' -s D -l duration -d 'end the test after this time instead' -r
complete -c verbena -n '__verbena_at perf write_bw' -s f -l margin -d 'with -D: begin and end that are not measured' -r
complete -c verbena -n '__verbena_at perf write_bw' -l warmup -d 'messages before the measurement' -r
complete -c verbena -n '__verbena_at perf write_bw' -s t -l tx-depth -d 'send queue' -r
complete -c verbena -n '__verbena_at perf write_bw' -s c -l connection -d 'RC or UC' -r -f -a 'RC UC'
complete -c verbena -n '__verbena_at perf write_bw' -s m -l mtu -d 'path MTU' -r
complete -c verbena -n '__verbena_at perf write_bw' -s I -l inline_size -d 'largest message that is inline' -r
complete -c verbena -n '__verbena_at perf write_bw' -s e -l events -d 'sleep until a completion makes an event'
complete -c verbena -n '__verbena_at perf write_bw' -s q -l qp -d 'queue pairs' -r
complete -c verbena -n '__verbena_at perf write_bw' -s l -l post_list -d 'work requests that are posted together' -r
complete -c verbena -n '__verbena_at perf write_bw' -s b -l bidirectional -d 'both ends send; the columns are the sum'
complete -c verbena -n '__verbena_at perf write_bw' -s Q -l cq-mod -d 'one of so many requests makes a completion' -r
complete -c verbena -n '__verbena_at perf write_bw' -s N -l noPeak -d 'show no peak'
complete -c verbena -n '__verbena_at perf write_bw' -l report_gbits -d 'Gb/sec instead of MiB/sec'
complete -c verbena -n '__verbena_at perf write_bw' -s w -l limit_bw -d 'fail below this average bandwidth, in the unit of the report' -r
complete -c verbena -n '__verbena_at perf write_bw' -s y -l limit_msgrate -d 'fail below this message rate, Mpps' -r
complete -c verbena -n '__verbena_at perf write_bw' -l output -d 'show only this figure of each size' -r -f -a 'bandwidth message_rate latency'
complete -c verbena -n '__verbena_at perf write_bw' -l rate -d 'each sender sends at this rate' -r
complete -c verbena -n '__verbena_at perf write_bw' -l rate_limit -d 'the same in the unit of --rate_units' -r
complete -c verbena -n '__verbena_at perf write_bw' -l rate_units -d 'of --rate_limit: M (MiB/sec), g (Gb/sec) or p (messages/s)' -r
complete -c verbena -n '__verbena_at perf write_bw' -s S -l sl -d 'service level' -r
complete -c verbena -n '__verbena_at perf write_bw' -s u -l qp-timeout -d 'ACK timeout of 4.096 µs · 2^exponent' -r
complete -c verbena -n '__verbena_at perf write_bw' -l retry_count -d 'retries of a packet that is not acknowledged, 0 to 7' -r
complete -c verbena -n '__verbena_at perf write_bw' -l perform_warm_up -d 'accepted as by perftest; there is always a warm-up, see --warmup'
complete -c verbena -n '__verbena_at perf write_bw' -s F -l CPU-freq -d 'accepted as by perftest; the CPU frequency is not looked at'
complete -c verbena -n '__verbena_at perf write_bw' -s R -l rdma_cm -d 'let the RDMA CM connect the queue pairs'
complete -c verbena -n '__verbena_at perf write_bw' -l bind_source_ip -d 'own address of the TCP connection' -r
complete -c verbena -n '__verbena_at perf write_bw' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at perf write_bw' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at perf write_bw' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at perf write_bw' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at perf write_bw' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at perf read_lat' -s i -l ib-port -d 'port of the adapter' -r
complete -c verbena -n '__verbena_at perf read_lat' -s p -l port -d 'TCP port' -r
complete -c verbena -n '__verbena_at perf read_lat' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at perf read_lat' -s x -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at perf read_lat' -s s -l size -d 'size of messages' -r
complete -c verbena -n '__verbena_at perf read_lat' -s a -l all -d 'sizes 2, 4, … 2^23'
complete -c verbena -n '__verbena_at perf read_lat' -s n -l iters -d 'messages' -r
complete -c verbena -n '__verbena_at perf read_lat' -s D -l duration -d 'end the test after this time instead' -r
complete -c verbena -n '__verbena_at perf read_lat' -s f -l margin -d 'with -D: begin and end that are not measured' -r
complete -c verbena -n '__verbena_at perf read_lat' -l warmup -d 'messages before the measurement' -r
complete -c verbena -n '__verbena_at perf read_lat' -s t -l tx-depth -d 'send queue, used with --rate' -r
complete -c verbena -n '__verbena_at perf read_lat' -s c -l connection -d 'RC' -r -f -a 'RC'
complete -c verbena -n '__verbena_at perf read_lat' -s m -l mtu -d 'path MTU' -r
complete -c verbena -n '__verbena_at perf read_lat' -s o -l outs -d 'outstanding requests' -r
complete -c verbena -n '__verbena_at perf read_lat' -s e -l events -d 'sleep until a completion makes an event'
complete -c verbena -n '__verbena_at perf read_lat' -s y -l limit_msgrate -d 'fail below this rate, Mpps' -r
complete -c verbena -n '__verbena_at perf read_lat' -l limit-latency -d 'fail above: min, avg, stdev, max, p10 to p99.999' -r
complete -c verbena -n '__verbena_at perf read_lat' -l limit-lost -d 'fail if more messages are lost (UC, UD)' -r
complete -c verbena -n '__verbena_at perf read_lat' -s H -l report-histogram -d 'show every latency, sorted'
complete -c verbena -n '__verbena_at perf read_lat' -s U -l report-unsorted -d 'show every latency in the order of the messages'
complete -c verbena -n '__verbena_at perf read_lat' -l output -d 'show only this figure of each size' -r -f -a 'bandwidth message_rate latency'
complete -c verbena -n '__verbena_at perf read_lat' -l rate -d 'open loop: send at this rate, and count latency from the intended send time' -r
complete -c verbena -n '__verbena_at perf read_lat' -s S -l sl -d 'service level' -r
complete -c verbena -n '__verbena_at perf read_lat' -s u -l qp-timeout -d 'ACK timeout of 4.096 µs · 2^exponent' -r
complete -c verbena -n '__verbena_at perf read_lat' -l retry_count -d 'retries of a packet that is not acknowledged, 0 to 7' -r
complete -c verbena -n '__verbena_at perf read_lat' -l perform_warm_up -d 'accepted as by perftest; there is always a warm-up, see --warmup'
complete -c verbena -n '__verbena_at perf read_lat' -s F -l CPU-freq -d 'accepted as by perftest; the CPU frequency is not looked at'
complete -c verbena -n '__verbena_at perf read_lat' -s R -l rdma_cm -d 'let the RDMA CM connect the queue pairs'
complete -c verbena -n '__verbena_at perf read_lat' -l bind_source_ip -d 'own address of the TCP connection' -r
complete -c verbena -n '__verbena_at perf read_lat' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at perf read_lat' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at perf read_lat' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at perf read_lat' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at perf read_lat' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at perf read_bw' -s i -l ib-port -d 'port of the adapter' -r
complete -c verbena -n '__verbena_at perf read_bw' -s p -l port -d 'TCP port' -r
complete -c verbena -n '__verbena_at perf read_bw' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at perf read_bw' -s x -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at perf read_bw' -s s -l size -d 'size of messages' -r
complete -c verbena -n '__verbena_at perf read_bw' -s a -l all -d 'sizes 2, 4, … 2^23'
complete -c verbena -n '__verbena_at perf read_bw' -s n -l iters -d 'messages of each queue pair' -r
complete -c verbena -n '__verbena_at perf read_bw' -s D -l duration -d 'end the test after this time instead' -r
complete -c verbena -n '__verbena_at perf read_bw' -s f -l margin -d 'with -D: begin and end that are not measured' -r
complete -c verbena -n '__verbena_at perf read_bw' -l warmup -d 'messages before the measurement' -r
complete -c verbena -n '__verbena_at perf read_bw' -s t -l tx-depth -d 'send queue' -r
complete -c verbena -n '__verbena_at perf read_bw' -s c -l connection -d 'RC' -r -f -a 'RC'
complete -c verbena -n '__verbena_at perf read_bw' -s m -l mtu -d 'path MTU' -r
complete -c verbena -n '__verbena_at perf read_bw' -s o -l outs -d 'outstanding requests' -r
complete -c verbena -n '__verbena_at perf read_bw' -s e -l events -d 'sleep until a completion makes an event'
complete -c verbena -n '__verbena_at perf read_bw' -s q -l qp -d 'queue pairs' -r
complete -c verbena -n '__verbena_at perf read_bw' -s l -l post_list -d 'work requests that are posted together' -r
complete -c verbena -n '__verbena_at perf read_bw' -s b -l bidirectional -d 'both ends send; the columns are the sum'
complete -c verbena -n '__verbena_at perf read_bw' -s Q -l cq-mod -d 'one of so many requests makes a completion' -r
complete -c verbena -n '__verbena_at perf read_bw' -s N -l noPeak -d 'show no peak'
complete -c verbena -n '__verbena_at perf read_bw' -l report_gbits -d 'Gb/sec instead of MiB/sec'
complete -c verbena -n '__verbena_at perf read_bw' -s w -l limit_bw -d 'fail below this average bandwidth, in the unit of the report' -r
complete -c verbena -n '__verbena_at perf read_bw' -s y -l limit_msgrate -d 'fail below this message rate, Mpps' -r
complete -c verbena -n '__verbena_at perf read_bw' -l output -d 'show only this figure of each size' -r -f -a 'bandwidth message_rate latency'
complete -c verbena -n '__verbena_at perf read_bw' -l rate -d 'each sender sends at this rate' -r
complete -c verbena -n '__verbena_at perf read_bw' -l rate_limit -d 'the same in the unit of --rate_units' -r
complete -c verbena -n '__verbena_at perf read_bw' -l rate_units -d 'of --rate_limit: M (MiB/sec), g (Gb/sec) or p (messages/s)' -r
complete -c verbena -n '__verbena_at perf read_bw' -s S -l sl -d 'service level' -r
complete -c verbena -n '__verbena_at perf read_bw' -s u -l qp-timeout -d 'ACK timeout of 4.096 µs · 2^exponent' -r
complete -c verbena -n '__verbena_at perf read_bw' -l retry_count -d 'retries of a packet that is not acknowledged, 0 to 7' -r
complete -c verbena -n '__verbena_at perf read_bw' -l perform_warm_up -d 'accepted as by perftest; there is always a warm-up, see --warmup'
complete -c verbena -n '__verbena_at perf read_bw' -s F -l CPU-freq -d 'accepted as by perftest; the CPU frequency is not looked at'
complete -c verbena -n '__verbena_at perf read_bw' -s R -l rdma_cm -d 'let the RDMA CM connect the queue pairs'
complete -c verbena -n '__verbena_at perf read_bw' -l bind_source_ip -d 'own address of the TCP connection' -r
complete -c verbena -n '__verbena_at perf read_bw' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at perf read_bw' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at perf read_bw' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at perf read_bw' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at perf read_bw' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at perf atomic_lat' -s i -l ib-port -d 'port of the adapter' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -s p -l port -d 'TCP port' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at perf atomic_lat' -s x -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -s n -l iters -d 'messages' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -s D -l duration -d 'end the test after this time instead' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -s f -l margin -d 'with -D: begin and end that are not measured' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -l warmup -d 'messages before the measurement' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -s t -l tx-depth -d 'send queue, used with --rate' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -s c -l connection -d 'RC' -r -f -a 'RC'
complete -c verbena -n '__verbena_at perf atomic_lat' -s m -l mtu -d 'path MTU' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -s o -l outs -d 'outstanding requests' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -s A -l atomic_type -d 'FETCH_AND_ADD or CMP_AND_SWAP' -r -f -a 'FETCH_AND_ADD CMP_AND_SWAP'
complete -c verbena -n '__verbena_at perf atomic_lat' -s e -l events -d 'sleep until a completion makes an event'
complete -c verbena -n '__verbena_at perf atomic_lat' -s y -l limit_msgrate -d 'fail below this rate, Mpps' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -l limit-latency -d 'fail above: min, avg, stdev, max, p10 to p99.999' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -l limit-lost -d 'fail if more messages are lost (UC, UD)' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -s H -l report-histogram -d 'show every latency, sorted'
complete -c verbena -n '__verbena_at perf atomic_lat' -s U -l report-unsorted -d 'show every latency in the order of the messages'
complete -c verbena -n '__verbena_at perf atomic_lat' -l output -d 'show only this figure of each size' -r -f -a 'bandwidth message_rate latency'
complete -c verbena -n '__verbena_at perf atomic_lat' -l rate -d 'open loop: send at this rate, and count latency from the intended send time' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -s S -l sl -d 'service level' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -s u -l qp-timeout -d 'ACK timeout of 4.096 µs · 2^exponent' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -l retry_count -d 'retries of a packet that is not acknowledged, 0 to 7' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -l perform_warm_up -d 'accepted as by perftest; there is always a warm-up, see --warmup'
complete -c verbena -n '__verbena_at perf atomic_lat' -s F -l CPU-freq -d 'accepted as by perftest; the CPU frequency is not looked at'
complete -c verbena -n '__verbena_at perf atomic_lat' -s R -l rdma_cm -d 'let the RDMA CM connect the queue pairs'
complete -c verbena -n '__verbena_at perf atomic_lat' -l bind_source_ip -d 'own address of the TCP connection' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at perf atomic_lat' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at perf atomic_lat' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at perf atomic_lat' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at perf atomic_bw' -s i -l ib-port -d 'port of the adapter' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s p -l port -d 'TCP port' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at perf atomic_bw' -s x -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s n -l iters -d 'messages of each queue pair' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s D -l duration -d 'end the test after this time instead' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s f -l margin -d 'with -D: begin and end that are not measured' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -l warmup -d 'messages before the measurement' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s t -l tx-depth -d 'send queue' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s c -l connection -d 'RC' -r -f -a 'RC'
complete -c verbena -n '__verbena_at perf atomic_bw' -s m -l mtu -d 'path MTU' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s o -l outs -d 'outstanding requests' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s A -l atomic_type -d 'FETCH_AND_ADD or CMP_AND_SWAP' -r -f -a 'FETCH_AND_ADD CMP_AND_SWAP'
complete -c verbena -n '__verbena_at perf atomic_bw' -s e -l events -d 'sleep until a completion makes an event'
complete -c verbena -n '__verbena_at perf atomic_bw' -s q -l qp -d 'queue pairs' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s l -l post_list -d 'work requests that are posted together' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s b -l bidirectional -d 'both ends send; the columns are the sum'
complete -c verbena -n '__verbena_at perf atomic_bw' -s Q -l cq-mod -d 'one of so many requests makes a completion' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s N -l noPeak -d 'show no peak'
complete -c verbena -n '__verbena_at perf atomic_bw' -l report_gbits -d 'Gb/sec instead of MiB/sec'
complete -c verbena -n '__verbena_at perf atomic_bw' -s w -l limit_bw -d 'fail below this average bandwidth, in the unit of the report' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s y -l limit_msgrate -d 'fail below this message rate, Mpps' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -l output -d 'show only this figure of each size' -r -f -a 'bandwidth message_rate latency'
complete -c verbena -n '__verbena_at perf atomic_bw' -l rate -d 'each sender sends at this rate' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -l rate_limit -d 'the same in the unit of --rate_units' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -l rate_units -d 'of --rate_limit: M (MiB/sec), g (Gb/sec) or p (messages/s)' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s S -l sl -d 'service level' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s u -l qp-timeout -d 'ACK timeout of 4.096 µs · 2^exponent' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -l retry_count -d 'retries of a packet that is not acknowledged, 0 to 7' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -l perform_warm_up -d 'accepted as by perftest; there is always a warm-up, see --warmup'
complete -c verbena -n '__verbena_at perf atomic_bw' -s F -l CPU-freq -d 'accepted as by perftest; the CPU frequency is not looked at'
complete -c verbena -n '__verbena_at perf atomic_bw' -s R -l rdma_cm -d 'let the RDMA CM connect the queue pairs'
complete -c verbena -n '__verbena_at perf atomic_bw' -l bind_source_ip -d 'own address of the TCP connection' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -s V -l version -d 'print the version'
complete -c verbena -n '__verbena_at perf atomic_bw' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at perf atomic_bw' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at perf atomic_bw' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at rc_pingpong' -s p -l port -d 'TCP port to listen on or connect to' -r
complete -c verbena -n '__verbena_at rc_pingpong' -s i -l ib-port -d 'port of the adapter' -r
complete -c verbena -n '__verbena_at rc_pingpong' -s s -l size -d 'size of each message' -r
complete -c verbena -n '__verbena_at rc_pingpong' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at rc_pingpong' -s m -l mtu -d 'path MTU' -r
complete -c verbena -n '__verbena_at rc_pingpong' -s r -l rx-depth -d 'receives that are posted at a time' -r
complete -c verbena -n '__verbena_at rc_pingpong' -s n -l iters -d 'exchanges' -r
complete -c verbena -n '__verbena_at rc_pingpong' -s l -l sl -d 'service level' -r
complete -c verbena -n '__verbena_at rc_pingpong' -s e -l events -d 'sleep until a completion makes an event'
complete -c verbena -n '__verbena_at rc_pingpong' -s c -l chk -d 'check what arrived; exit code 1 if it is wrong'
complete -c verbena -n '__verbena_at rc_pingpong' -s g -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at rc_pingpong' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at rc_pingpong' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at rc_pingpong' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at rc_pingpong' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at uc_pingpong' -s p -l port -d 'TCP port to listen on or connect to' -r
complete -c verbena -n '__verbena_at uc_pingpong' -s i -l ib-port -d 'port of the adapter' -r
complete -c verbena -n '__verbena_at uc_pingpong' -s s -l size -d 'size of each message' -r
complete -c verbena -n '__verbena_at uc_pingpong' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at uc_pingpong' -s m -l mtu -d 'path MTU' -r
complete -c verbena -n '__verbena_at uc_pingpong' -s r -l rx-depth -d 'receives that are posted at a time' -r
complete -c verbena -n '__verbena_at uc_pingpong' -s n -l iters -d 'exchanges' -r
complete -c verbena -n '__verbena_at uc_pingpong' -s l -l sl -d 'service level' -r
complete -c verbena -n '__verbena_at uc_pingpong' -s e -l events -d 'sleep until a completion makes an event'
complete -c verbena -n '__verbena_at uc_pingpong' -s c -l chk -d 'check what arrived; exit code 1 if it is wrong'
complete -c verbena -n '__verbena_at uc_pingpong' -s g -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at uc_pingpong' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at uc_pingpong' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at uc_pingpong' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at uc_pingpong' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at ud_pingpong' -s p -l port -d 'TCP port to listen on or connect to' -r
complete -c verbena -n '__verbena_at ud_pingpong' -s i -l ib-port -d 'port of the adapter' -r
complete -c verbena -n '__verbena_at ud_pingpong' -s s -l size -d 'size of each message' -r
complete -c verbena -n '__verbena_at ud_pingpong' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at ud_pingpong' -s r -l rx-depth -d 'receives that are posted at a time' -r
complete -c verbena -n '__verbena_at ud_pingpong' -s n -l iters -d 'exchanges' -r
complete -c verbena -n '__verbena_at ud_pingpong' -s l -l sl -d 'service level' -r
complete -c verbena -n '__verbena_at ud_pingpong' -s e -l events -d 'sleep until a completion makes an event'
complete -c verbena -n '__verbena_at ud_pingpong' -s c -l chk -d 'check what arrived; exit code 1 if it is wrong'
complete -c verbena -n '__verbena_at ud_pingpong' -s g -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at ud_pingpong' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at ud_pingpong' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at ud_pingpong' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at ud_pingpong' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at srq_pingpong' -s p -l port -d 'TCP port to listen on or connect to' -r
complete -c verbena -n '__verbena_at srq_pingpong' -s i -l ib-port -d 'port of the adapter' -r
complete -c verbena -n '__verbena_at srq_pingpong' -s s -l size -d 'size of each message' -r
complete -c verbena -n '__verbena_at srq_pingpong' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at srq_pingpong' -s m -l mtu -d 'path MTU' -r
complete -c verbena -n '__verbena_at srq_pingpong' -s q -l num-qp -d 'queue pairs, at most 255' -r
complete -c verbena -n '__verbena_at srq_pingpong' -s r -l rx-depth -d 'receives that are posted at a time' -r
complete -c verbena -n '__verbena_at srq_pingpong' -s n -l iters -d 'exchanges' -r
complete -c verbena -n '__verbena_at srq_pingpong' -s l -l sl -d 'service level' -r
complete -c verbena -n '__verbena_at srq_pingpong' -s e -l events -d 'sleep until a completion makes an event'
complete -c verbena -n '__verbena_at srq_pingpong' -s c -l chk -d 'check what arrived; exit code 1 if it is wrong'
complete -c verbena -n '__verbena_at srq_pingpong' -s g -l gid-index -d 'GID of the port' -r
complete -c verbena -n '__verbena_at srq_pingpong' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at srq_pingpong' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at srq_pingpong' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at srq_pingpong' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at rping' -s s -d 'be the server'
complete -c verbena -n '__verbena_at rping' -s c -d 'be the client'
complete -c verbena -n '__verbena_at rping' -s a -d 'the server\'s address or name; without it a server listens on all addresses' -r
complete -c verbena -n '__verbena_at rping' -s I -d 'client: its own address' -r
complete -c verbena -n '__verbena_at rping' -s p -d 'port' -r
complete -c verbena -n '__verbena_at rping' -s C -d 'client: pings; 0 runs until Ctrl-C' -r
complete -c verbena -n '__verbena_at rping' -s S -d 'size of the buffer, 26 to 65535' -r
complete -c verbena -n '__verbena_at rping' -s v -d 'show the data of each ping'
complete -c verbena -n '__verbena_at rping' -s V -d 'client: check the data of each ping; exit code 1 if it is wrong'
complete -c verbena -n '__verbena_at rping' -s d -d 'show what happens underneath'
complete -c verbena -n '__verbena_at rping' -s P -d 'server: go on for other clients, also several at a time, until Ctrl-C'
complete -c verbena -n '__verbena_at rping' -s q -d 'make and move the queue pair in the program instead of in the RDMA CM'
complete -c verbena -n '__verbena_at rping' -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at rping' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at rping' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at rping' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at rping' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at ucmatose' -s s -d 'be the client of the server with this address or name' -r
complete -c verbena -n '__verbena_at ucmatose' -s b -d 'own address or name to bind to' -r
complete -c verbena -n '__verbena_at ucmatose' -s c -d 'connections' -r
complete -c verbena -n '__verbena_at ucmatose' -s C -d 'messages on each connection' -r
complete -c verbena -n '__verbena_at ucmatose' -s S -d 'size of each message' -r
complete -c verbena -n '__verbena_at ucmatose' -s f -d 'what -s and -b are: name, ip, ipv6 or gid' -r -f -a 'name ip ipv6 gid'
complete -c verbena -n '__verbena_at ucmatose' -s P -d 'port space: tcp or ib' -r -f -a 'tcp ib'
complete -c verbena -n '__verbena_at ucmatose' -s p -d 'port' -r
complete -c verbena -n '__verbena_at ucmatose' -s t -d 'type of service, 0 to 255' -r
complete -c verbena -n '__verbena_at ucmatose' -s a -d 'local ACK timeout, 4.096 µs · 2^code' -r
complete -c verbena -n '__verbena_at ucmatose' -s m -d 'move all ids to another event channel before they disconnect'
complete -c verbena -n '__verbena_at ucmatose' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at ucmatose' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at ucmatose' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at ucmatose' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at ucmatose' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at udaddy' -s s -d 'be the client of the server with this address or name' -r
complete -c verbena -n '__verbena_at udaddy' -s b -d 'own address or name to bind to' -r
complete -c verbena -n '__verbena_at udaddy' -s c -d 'connections' -r
complete -c verbena -n '__verbena_at udaddy' -s C -d 'messages on each connection' -r
complete -c verbena -n '__verbena_at udaddy' -s S -d 'size of each message' -r
complete -c verbena -n '__verbena_at udaddy' -s f -d 'what -s and -b are: name, ip, ipv6 or gid' -r -f -a 'name ip ipv6 gid'
complete -c verbena -n '__verbena_at udaddy' -s P -d 'port space: udp or ipoib' -r -f -a 'udp ipoib'
complete -c verbena -n '__verbena_at udaddy' -s p -d 'port space by its number: 0x111 for UDP, 0x2 for IPoIB' -r
complete -c verbena -n '__verbena_at udaddy' -s t -d 'type of service, 0 to 255' -r
complete -c verbena -n '__verbena_at udaddy' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at udaddy' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at udaddy' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at udaddy' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at udaddy' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at mckey' -s m -d 'IP address of the group' -r
complete -c verbena -n '__verbena_at mckey' -s M -d 'GID of the group, instead of -m; needs -b' -r
complete -c verbena -n '__verbena_at mckey' -s s -d 'send to the group'
complete -c verbena -n '__verbena_at mckey' -s b -d 'own address or name to bind to' -r
complete -c verbena -n '__verbena_at mckey' -s c -d 'connections' -r
complete -c verbena -n '__verbena_at mckey' -s C -d 'messages on each connection' -r
complete -c verbena -n '__verbena_at mckey' -s S -d 'size of each message' -r
complete -c verbena -n '__verbena_at mckey' -s p -d 'port space by its number: 0x111 for UDP, 0x2 for IPoIB' -r
complete -c verbena -n '__verbena_at mckey' -s o -d 'join to send only'
complete -c verbena -n '__verbena_at mckey' -l settle -d 'seconds to wait after joining' -r
complete -c verbena -n '__verbena_at mckey' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at mckey' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at mckey' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at mckey' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at mckey' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at cmtime' -s s -d 'be the client of the server with this address or name' -r
complete -c verbena -n '__verbena_at cmtime' -s b -d 'own address or name to bind to' -r
complete -c verbena -n '__verbena_at cmtime' -s c -d 'connections' -r
complete -c verbena -n '__verbena_at cmtime' -s p -d 'port' -r
complete -c verbena -n '__verbena_at cmtime' -s r -d 'how often an address or route is resolved again' -r
complete -c verbena -n '__verbena_at cmtime' -s t -d 'how long resolving one may take' -r
complete -c verbena -n '__verbena_at cmtime' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at cmtime' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at cmtime' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at cmtime' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at cmtime' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at rstream' -s s -d 'be the client of the server with this address or name' -r
complete -c verbena -n '__verbena_at rstream' -s b -d 'own address or name to bind to' -r
complete -c verbena -n '__verbena_at rstream' -s f -d 'what -s and -b are: name, ip, ipv6 or gid' -r -f -a 'name ip ipv6 gid'
complete -c verbena -n '__verbena_at rstream' -s B -d 'size of the send and receive buffer' -r
complete -c verbena -n '__verbena_at rstream' -s i -d 'messages up to this size go inside a work request in latency tests' -r
complete -c verbena -n '__verbena_at rstream' -s I -d 'iterations of one test of your own' -r
complete -c verbena -n '__verbena_at rstream' -s C -d 'messages each way in an iteration of it' -r
complete -c verbena -n '__verbena_at rstream' -s S -d 'size of its messages, or "all" for tests of all sizes' -r
complete -c verbena -n '__verbena_at rstream' -s p -d 'port' -r
complete -c verbena -n '__verbena_at rstream' -s k -d 'send keepalives after this much silence' -r
complete -c verbena -n '__verbena_at rstream' -s T -d 'what and how to test, see below; may be repeated' -r
complete -c verbena -n '__verbena_at rstream' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at rstream' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at rstream' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at rstream' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at rstream' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at riostream' -s s -d 'be the client of the server with this address or name' -r
complete -c verbena -n '__verbena_at riostream' -s b -d 'own address or name to bind to' -r
complete -c verbena -n '__verbena_at riostream' -s f -d 'what -s and -b are: name, ip, ipv6 or gid' -r -f -a 'name ip ipv6 gid'
complete -c verbena -n '__verbena_at riostream' -s B -d 'size of the send and receive buffer' -r
complete -c verbena -n '__verbena_at riostream' -s i -d 'messages up to this size go inside a work request in latency tests' -r
complete -c verbena -n '__verbena_at riostream' -s I -d 'iterations of one test of your own' -r
complete -c verbena -n '__verbena_at riostream' -s C -d 'messages each way in an iteration of it' -r
complete -c verbena -n '__verbena_at riostream' -s S -d 'size of its messages, or "all" for tests of all sizes' -r
complete -c verbena -n '__verbena_at riostream' -s p -d 'port' -r
complete -c verbena -n '__verbena_at riostream' -s T -d 'what and how to test, see below; may be repeated' -r
complete -c verbena -n '__verbena_at riostream' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at riostream' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at riostream' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at riostream' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at riostream' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at rcopy' -s p -d 'port' -r
complete -c verbena -n '__verbena_at rcopy' -l dir -d 'server: write below this directory only' -r -f -a '(__fish_complete_directories)'
complete -c verbena -n '__verbena_at rcopy' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at rcopy' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at rcopy' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at rcopy' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at rcopy' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at rcopy' -F
complete -c verbena -n '__verbena_at udpong' -s s -d 'be the client of the server with this address or name' -r
complete -c verbena -n '__verbena_at udpong' -s b -d 'own address or name to bind to' -r
complete -c verbena -n '__verbena_at udpong' -s B -d 'size of the send and receive buffer' -r
complete -c verbena -n '__verbena_at udpong' -s C -d 'datagrams of one test of your own' -r
complete -c verbena -n '__verbena_at udpong' -s S -d 'size of its datagrams, 16 to 2056' -r
complete -c verbena -n '__verbena_at udpong' -s p -d 'port' -r
complete -c verbena -n '__verbena_at udpong' -s T -d 'what and how to test, see below; may be repeated' -r
complete -c verbena -n '__verbena_at udpong' -s d -l device -d 'adapter: roce, roce:ADDRESS, shm:NAME' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at udpong' -l wait -d 'client: retry for this long while no server listens' -r
complete -c verbena -n '__verbena_at udpong' -l timeout -d 'give up when nothing arrives for this long; 0 waits forever' -r
complete -c verbena -n '__verbena_at udpong' -l json -d 'print one JSON document and nothing else'
complete -c verbena -n '__verbena_at udpong' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at devices' -l counters -d 'messages, errors and drops of each adapter, also of those in other processes'
complete -c verbena -n '__verbena_at devices' -l json -d 'print one JSON document'
complete -c verbena -n '__verbena_at devices' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at devinfo' -s d -l device -d 'the same, as ibv_devinfo takes it' -r -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at devinfo' -s i -l ib-port -d 'only this port' -r
complete -c verbena -n '__verbena_at devinfo' -s l -l list -d 'only the names'
complete -c verbena -n '__verbena_at devinfo' -s v -l verbose -d 'all attributes, and the GID and P_Key tables'
complete -c verbena -n '__verbena_at devinfo' -l json -d 'print one JSON document with all attributes'
complete -c verbena -n '__verbena_at devinfo' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at devinfo' -f -a '(__verbena_devices)'
complete -c verbena -n '__verbena_at completion' -s h -l help -d 'print help'
complete -c verbena -n '__verbena_at completion' -f -a 'bash zsh fish'
