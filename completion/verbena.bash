# bash completion for verbena. Made by `npm run docs` from the options of the commands.

_verbena() {
  local line=${COMP_LINE:0:COMP_POINT} command='' arguments=0 value='' commands options word cur i
  local -a words
  read -ra words <<< "$line"
  # The word at the cursor, whole: bash itself takes a colon, as in shm:lab, for the end of a word.
  cur=${line##*[[:space:]]}
  [[ -n $cur ]] && unset 'words[-1]'
  # Which command it is: the words before the cursor that name one, without options and their values.
  for ((i = 1; i < ${#words[@]}; i++)); do
    word=${words[i]}
    _verbena_value "$command" "$word"
    if [[ -n $value ]]; then ((i++)); continue; fi
    [[ $word == -* ]] && continue
    case "${command:+$command }$word" in
      'start'|'bench'|'collective'|'report'|'trace'|'traffic'|'collect'|'monitor'|'replay'|'run'|'gateway'|'perf'|'rc_pingpong'|'uc_pingpong'|'ud_pingpong'|'srq_pingpong'|'rping'|'ucmatose'|'udaddy'|'mckey'|'cmtime'|'rstream'|'riostream'|'rcopy'|'udpong'|'devices'|'devinfo'|'completion'|'bench latency'|'bench throughput'|'bench rsocket'|'bench node'|'bench collective'|'collective measure'|'collective tune'|'trace check'|'trace show'|'trace info'|'trace page'|'trace convert'|'traffic server'|'traffic client'|'traffic merge'|'traffic fit'|'traffic cdf'|'collect counters'|'collect l2'|'collect trace'|'collect session'|'monitor collector'|'monitor compare'|'monitor report'|'monitor watch'|'replay packets'|'replay messages'|'replay server'|'replay client'|'gateway convert'|'gateway compare'|'gateway hook'|'gateway node'|'gateway pipe'|'gateway signal'|'gateway check'|'gateway graph'|'perf send_lat'|'perf send_bw'|'perf write_lat'|'perf write_bw'|'perf read_lat'|'perf read_bw'|'perf atomic_lat'|'perf atomic_bw') command+="${command:+ }$word"; arguments=0 ;;
      'ibv_rc_pingpong') command='rc_pingpong'; arguments=0 ;;
      'ibv_uc_pingpong') command='uc_pingpong'; arguments=0 ;;
      'ibv_ud_pingpong') command='ud_pingpong'; arguments=0 ;;
      'ibv_srq_pingpong') command='srq_pingpong'; arguments=0 ;;
      'ibv_devices') command='devices'; arguments=0 ;;
      'ibv_devinfo') command='devinfo'; arguments=0 ;;
      *) ((arguments++)) ;;
    esac
  done
  value=''
  ((${#words[@]} > 1)) && _verbena_value "$command" "${words[${#words[@]} - 1]}"
  case "$command" in
    '') commands='start bench collective report trace traffic collect monitor replay run gateway perf rc_pingpong ibv_rc_pingpong uc_pingpong ibv_uc_pingpong ud_pingpong ibv_ud_pingpong srq_pingpong ibv_srq_pingpong rping ucmatose udaddy mckey cmtime rstream riostream rcopy udpong devices ibv_devices devinfo ibv_devinfo completion' options='-V --version -h --help' ;;
    'start') commands='' options='--repeat --seed --out --open --json -h --help' ;;
    'bench') commands='latency throughput rsocket node collective' options='-h --help' ;;
    'bench latency') commands='' options='-d --device --service --op --size --poll --poll-comp --inline --unsignaled --burst --pause --stamp --engine --pin --repeat --seed --warmup --out --json -h --help' ;;
    'bench throughput') commands='' options='-d --device --technique --service --concurrent --batch --size --qps --engine --pin --seconds --messages --warmup --repeat --seed --out --json -h --help' ;;
    'bench rsocket') commands='' options='--test --transport -d --device --size --poll --buffer --extensions --direct --pin --seconds --warmup --repeat --seed --profile --out --json -h --help' ;;
    'bench node') commands='' options='--node --mode --values --rate --timer -d --device --max-inline-data --periodic-signaling --buffer-subtraction --processes --threads --limit --warmup --repeat --pin --out --json -h --help' ;;
    'bench collective') commands='' options='-d --device --transport --mode --measure --size --processes --repetitions --max-posts --memsize --warmup --lost-after --procs --rank --ranks --meet --timeout --pin --out --json -h --help' ;;
    'collective') commands='measure tune' options='-h --help' ;;
    'collective measure') commands='' options='-d --device --collective --size --among --repetitions --procs --rank --ranks --meet --timeout --pin --out --json -h --help' ;;
    'collective tune') commands='' options='-o --output --json -h --help' ;;
    'report') commands='' options='--out --over --range --title --open --json -h --help' ;;
    'trace') commands='check show info page convert' options='-h --help' ;;
    'trace check') commands='' options='-d --decode-as --roce-port --no-icrc --json -h --help' ;;
    'trace show') commands='' options='-d --decode-as --roce-port -f --filter -n --limit -t --time -V --verbose -x --hex --json -h --help' ;;
    'trace info') commands='' options='-d --decode-as --roce-port --top --json -h --help' ;;
    'trace page') commands='' options='-o --out --open --json -h --help' ;;
    'trace convert') commands='' options='-d --decode-as --roce-port --format --micro -f --filter -h --help' ;;
    'traffic') commands='server client merge fit cdf' options='-h --help' ;;
    'traffic server') commands='' options='-d --device -x --gid-index -i --ib-port -p --port --source --once --json -h --help' ;;
    'traffic client') commands='' options='--dry-run --pcap --rocev1 --seed --count --duration --load --bandwidth --client -i --ib-port -R --rdma_cm --wait --out --json -d --device -x --gid-index -h --help' ;;
    'traffic merge') commands='' options='--out --json -h --help' ;;
    'traffic fit') commands='' options='-d --decode-as --roce-port -o --out --all --client --server --scale --json -h --help' ;;
    'traffic cdf') commands='' options='--interpolation --unit --json -h --help' ;;
    'collect') commands='counters l2 trace session' options='-h --help' ;;
    'collect counters') commands='' options='--sysfs-root -d --device --ib-port --interval --count --qp --all --json --csv --prometheus --listen --token-file --no-token -h --help' ;;
    'collect l2') commands='' options='--sysfs-root --json -h --help' ;;
    'collect trace') commands='' options='-i --interface --filter --roce-port -s --snap-length --headers --anonymise --anonymise-key --rotate-size --rotate-time --rotate-files --buffer --no-promiscuous -r --read -w --write -c --count --duration --json -h --help' ;;
    'collect session') commands='' options='-i --interface --filter --roce-port -s --snap-length --headers --anonymise --anonymise-key --rotate-size --rotate-time --rotate-files --buffer --no-promiscuous --sysfs-root -o --out --interval --duration --compress --no-trace --json -h --help' ;;
    'monitor') commands='collector compare report watch' options='-h --help' ;;
    'monitor collector') commands='' options='--window --memory --page --page-token-file --page-no-token --page-tls-key --page-tls-cert --by --of --top --json --view --save --alert --alert-log --alert-webhook --alertmanager --listen --token-file --tls-key --tls-cert -h --help' ;;
    'monitor compare') commands='' options='-d --decode-as --roce-port --window --memory --by --of --threshold --top --exact-memory --seed --merge --json -h --help' ;;
    'monitor report') commands='' options='--page --page-token-file --page-no-token --page-tls-key --page-tls-cert --by --of --top --json --per --from --to -h --help' ;;
    'monitor watch') commands='' options='-d --decode-as --roce-port --window --memory --page --page-token-file --page-no-token --page-tls-key --page-tls-cert --by --of --top --json --view --save --alert --alert-log --alert-webhook --alertmanager --collector --token-file --ca --name -i --interface --tap --duration --metrics --metrics-token-file --metrics-no-token --workers -h --help' ;;
    'replay') commands='packets messages server client' options='-h --help' ;;
    'replay packets') commands='' options='-d --decode-as --roce-port --to -i --interface --udp --mac --ip --lid --source-port --destination-port --dscp --ecn --pkey --qpn --psn --msn --rkey --va --map -f --filter --bad --others --speed --pps --rate --json -h --help' ;;
    'replay messages') commands='' options='-d --decode-as --roce-port -h --help' ;;
    'replay server') commands='' options='-p --port -d --device -x --gid-index --wait --timeout --json -h --help' ;;
    'replay client') commands='' options='--decode-as --roce-port --mode --speed --depth -p --port -d --device -x --gid-index --wait --timeout --json -h --help' ;;
    'run') commands='' options='-d --device --name --faults --tap --explain --trace --counters --json --strict --verbose -h --help' ;;
    'gateway') commands='convert compare hook node pipe signal check graph' options='-h --help' ;;
    'gateway convert') commands='' options='-d --log -V --version -i --input-format -o --output-format -t --types -h --help' ;;
    'gateway compare') commands='' options='-d --log -V --version -e --epsilon -v --no-values -T --no-timestamp -s --no-sequence -f --format -t --types --json -h --help' ;;
    'gateway hook') commands='' options='-d --log -V --version -c --config -f --input-format -F --output-format -t --types -v --vectorize -o --option -h --help' ;;
    'gateway node') commands='' options='-d --log -V --version -C --capabilities --duration --no-token --json -h --help' ;;
    'gateway pipe') commands='' options='-d --log-level -V --version -f --format -t --types -o --option -x --swap -s --send -r --receive -T --timeout -L --limit-send -l --limit-receive --no-token -h --help' ;;
    'gateway signal') commands='' options='-d --log -V --version -v --values -r --rate -n --no-realtime -F --frequency -a --amplitude -D --stddev -o --offset -p --phase -l --limit -f --format -h --help' ;;
    'gateway check') commands='' options='--json -c --check -D --dump -V --version -h --help' ;;
    'gateway graph') commands='' options='-f --format -o --output --json -h --help' ;;
    'perf') commands='send_lat send_bw write_lat write_bw read_lat read_bw atomic_lat atomic_bw' options='-h --help' ;;
    'perf send_lat') commands='' options='-i --ib-port -p --port -d --device -x --gid-index -s --size -a --all -n --iters -D --duration -f --margin --warmup -t --tx-depth -r --rx-depth -c --connection -m --mtu -I --inline_size -e --events -y --limit_msgrate --limit-latency --limit-lost -H --report-histogram -U --report-unsorted --output --rate -S --sl -u --qp-timeout --retry_count --perform_warm_up -F --CPU-freq -R --rdma_cm --bind_source_ip -V --version --wait --timeout --json -h --help' ;;
    'perf send_bw') commands='' options='-i --ib-port -p --port -d --device -x --gid-index -s --size -a --all -n --iters -D --duration -f --margin --warmup -t --tx-depth -r --rx-depth -c --connection -m --mtu -I --inline_size -e --events -q --qp -l --post_list -b --bidirectional -Q --cq-mod -N --noPeak --report_gbits -w --limit_bw -y --limit_msgrate --output --rate --rate_limit --rate_units -S --sl -u --qp-timeout --retry_count --perform_warm_up -F --CPU-freq -R --rdma_cm --bind_source_ip -V --version --wait --timeout --json -h --help' ;;
    'perf write_lat') commands='' options='-i --ib-port -p --port -d --device -x --gid-index -s --size -a --all -n --iters -D --duration -f --margin --warmup -t --tx-depth -c --connection -m --mtu -I --inline_size -y --limit_msgrate --limit-latency --limit-lost -H --report-histogram -U --report-unsorted --output --rate -S --sl -u --qp-timeout --retry_count --perform_warm_up -F --CPU-freq -R --rdma_cm --bind_source_ip -V --version --wait --timeout --json -h --help' ;;
    'perf write_bw') commands='' options='-i --ib-port -p --port -d --device -x --gid-index -s --size -a --all -n --iters -D --duration -f --margin --warmup -t --tx-depth -c --connection -m --mtu -I --inline_size -e --events -q --qp -l --post_list -b --bidirectional -Q --cq-mod -N --noPeak --report_gbits -w --limit_bw -y --limit_msgrate --output --rate --rate_limit --rate_units -S --sl -u --qp-timeout --retry_count --perform_warm_up -F --CPU-freq -R --rdma_cm --bind_source_ip -V --version --wait --timeout --json -h --help' ;;
    'perf read_lat') commands='' options='-i --ib-port -p --port -d --device -x --gid-index -s --size -a --all -n --iters -D --duration -f --margin --warmup -t --tx-depth -c --connection -m --mtu -o --outs -e --events -y --limit_msgrate --limit-latency --limit-lost -H --report-histogram -U --report-unsorted --output --rate -S --sl -u --qp-timeout --retry_count --perform_warm_up -F --CPU-freq -R --rdma_cm --bind_source_ip -V --version --wait --timeout --json -h --help' ;;
    'perf read_bw') commands='' options='-i --ib-port -p --port -d --device -x --gid-index -s --size -a --all -n --iters -D --duration -f --margin --warmup -t --tx-depth -c --connection -m --mtu -o --outs -e --events -q --qp -l --post_list -b --bidirectional -Q --cq-mod -N --noPeak --report_gbits -w --limit_bw -y --limit_msgrate --output --rate --rate_limit --rate_units -S --sl -u --qp-timeout --retry_count --perform_warm_up -F --CPU-freq -R --rdma_cm --bind_source_ip -V --version --wait --timeout --json -h --help' ;;
    'perf atomic_lat') commands='' options='-i --ib-port -p --port -d --device -x --gid-index -n --iters -D --duration -f --margin --warmup -t --tx-depth -c --connection -m --mtu -o --outs -A --atomic_type -e --events -y --limit_msgrate --limit-latency --limit-lost -H --report-histogram -U --report-unsorted --output --rate -S --sl -u --qp-timeout --retry_count --perform_warm_up -F --CPU-freq -R --rdma_cm --bind_source_ip -V --version --wait --timeout --json -h --help' ;;
    'perf atomic_bw') commands='' options='-i --ib-port -p --port -d --device -x --gid-index -n --iters -D --duration -f --margin --warmup -t --tx-depth -c --connection -m --mtu -o --outs -A --atomic_type -e --events -q --qp -l --post_list -b --bidirectional -Q --cq-mod -N --noPeak --report_gbits -w --limit_bw -y --limit_msgrate --output --rate --rate_limit --rate_units -S --sl -u --qp-timeout --retry_count --perform_warm_up -F --CPU-freq -R --rdma_cm --bind_source_ip -V --version --wait --timeout --json -h --help' ;;
    'rc_pingpong') commands='' options='-p --port -i --ib-port -s --size -d --device -m --mtu -r --rx-depth -n --iters -l --sl -e --events -c --chk -g --gid-index --wait --timeout --json -h --help' ;;
    'uc_pingpong') commands='' options='-p --port -i --ib-port -s --size -d --device -m --mtu -r --rx-depth -n --iters -l --sl -e --events -c --chk -g --gid-index --wait --timeout --json -h --help' ;;
    'ud_pingpong') commands='' options='-p --port -i --ib-port -s --size -d --device -r --rx-depth -n --iters -l --sl -e --events -c --chk -g --gid-index --wait --timeout --json -h --help' ;;
    'srq_pingpong') commands='' options='-p --port -i --ib-port -s --size -d --device -m --mtu -q --num-qp -r --rx-depth -n --iters -l --sl -e --events -c --chk -g --gid-index --wait --timeout --json -h --help' ;;
    'rping') commands='' options='-s -c -a -I -p -C -S -v -V -d -P -q --device --wait --timeout --json -h --help' ;;
    'ucmatose') commands='' options='-s -b -c -C -S -f -P -p -t -a -m -d --device --wait --timeout --json -h --help' ;;
    'udaddy') commands='' options='-s -b -c -C -S -f -P -p -t -d --device --wait --timeout --json -h --help' ;;
    'mckey') commands='' options='-m -M -s -b -c -C -S -p -o --settle -d --device --wait --timeout --json -h --help' ;;
    'cmtime') commands='' options='-s -b -c -p -r -t -d --device --wait --timeout --json -h --help' ;;
    'rstream') commands='' options='-s -b -f -B -i -I -C -S -p -k -T -d --device --wait --timeout --json -h --help' ;;
    'riostream') commands='' options='-s -b -f -B -i -I -C -S -p -T -d --device --wait --timeout --json -h --help' ;;
    'rcopy') commands='' options='-p --dir -d --device --wait --timeout --json -h --help' ;;
    'udpong') commands='' options='-s -b -B -C -S -p -T -d --device --wait --timeout --json -h --help' ;;
    'devices') commands='' options='--counters --json -h --help' ;;
    'devinfo') commands='' options='-d --device -i --ib-port -l --list -v --verbose --json -h --help' ;;
    'completion') commands='' options='-h --help' ;;
  esac
  local words_to_offer=''
  if [[ -z $value && $cur == -* ]]; then words_to_offer=$options
  elif [[ -z $value && -n $commands ]]; then ((arguments == 0)) && words_to_offer=$commands
  else
    [[ -z $value ]] && case "$command $arguments" in
      'collective tune '*) value='any' ;;
      'report '*) value='folder' ;;
      'trace check '*) value='file' ;;
      'trace show 0') value='file' ;;
      'trace info 0') value='file' ;;
      'trace page '*) value='any' ;;
      'trace convert 0') value='file' ;;
      'trace convert 1') value='file' ;;
      'traffic client 0') value='any' ;;
      'traffic merge '*) value='folder' ;;
      'traffic fit 0') value='any' ;;
      'traffic cdf 0') value='any' ;;
      'collect l2 '*) value='any' ;;
      'collect trace '*) value='any' ;;
      'monitor compare '*) value='any' ;;
      'monitor report '*) value='any' ;;
      'monitor watch '*) value='any' ;;
      'replay packets 0') value='file' ;;
      'replay messages 0') value='file' ;;
      'replay client 0') value='any' ;;
      'replay client '*) value='any' ;;
      'run 0') value='any' ;;
      'run '*) value='any' ;;
      'gateway compare '*) value='any' ;;
      'gateway hook 0') value='any' ;;
      'gateway node 0') value='any' ;;
      'gateway pipe 0') value='any' ;;
      'gateway pipe 1') value='any' ;;
      'gateway signal 0') value='any' ;;
      'gateway check 0') value='any' ;;
      'gateway graph 0') value='any' ;;
      'perf send_lat 0') value='any' ;;
      'perf send_bw 0') value='any' ;;
      'perf write_lat 0') value='any' ;;
      'perf write_bw 0') value='any' ;;
      'perf read_lat 0') value='any' ;;
      'perf read_bw 0') value='any' ;;
      'perf atomic_lat 0') value='any' ;;
      'perf atomic_bw 0') value='any' ;;
      'rc_pingpong 0') value='any' ;;
      'uc_pingpong 0') value='any' ;;
      'ud_pingpong 0') value='any' ;;
      'srq_pingpong 0') value='any' ;;
      'rcopy 0') value='file' ;;
      'rcopy 1') value='any' ;;
      'devinfo 0') value='device' ;;
      'completion 0') value='word:bash zsh fish' ;;
    esac
    case $value in
      file) COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2> /dev/null; return ;;
      folder) COMPREPLY=($(compgen -d -- "$cur")); compopt -o filenames 2> /dev/null; return ;;
      device) words_to_offer=$(verbena devices 2> /dev/null | tail -n +2 | cut -d ' ' -f 1) ;;
      word:*) words_to_offer=${value#word:} ;;
    esac
  fi
  # Of a list, the last one is completed.
  local list=''
  [[ $cur == *,* ]] && list=${cur%,*},
  COMPREPLY=($(compgen -P "$list" -W "$words_to_offer" -- "${cur#"$list"}"))
  # What stands before the last colon, readline has already.
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
    local before=${cur%"${cur##*:}"}
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
  fi
}

# Sets value to what follows this option of the command: device, file, folder, word:…, any; empty if nothing does.
_verbena_value() {
  value=''
  case $1 in
    'start') case $2 in
      --repeat|--seed) value='any' ;;
      --out) value='folder' ;;
    esac ;;
    'bench latency') case $2 in
      -d|--device|--ib-dev) value='device' ;;
      --service) value='word:RC UC UD' ;;
      --op) value='word:send-imm write-imm' ;;
      --size|--burst|--pause|--repeat|--seed|--warmup) value='any' ;;
      --poll|--poll-comp) value='word:busy event' ;;
      --stamp) value='word:submit send' ;;
      --engine) value='word:poster thread' ;;
      --pin) value='word:auto' ;;
      --out) value='folder' ;;
    esac ;;
    'bench throughput') case $2 in
      -d|--device|--ib-dev) value='device' ;;
      --technique) value='word:send-recv write write-unsignaled write-inline write-batch srq write-imm' ;;
      --service) value='word:RC UC UD' ;;
      --concurrent|--batch|--size|--qps|--seconds|--messages|--warmup|--repeat|--seed) value='any' ;;
      --engine) value='word:poster thread' ;;
      --pin) value='word:auto' ;;
      --out) value='folder' ;;
    esac ;;
    'bench rsocket') case $2 in
      --test) value='word:rr stream' ;;
      --transport) value='word:rsocket tcp' ;;
      -d|--device|--ib-dev) value='device' ;;
      --size|--buffer|--seconds|--warmup|--repeat|--seed) value='any' ;;
      --poll) value='word:busy event' ;;
      --pin) value='word:auto' ;;
      --out) value='folder' ;;
    esac ;;
    'bench node') case $2 in
      --node|--mode|--values|--rate|--timer|--max-inline-data|--periodic-signaling|--buffer-subtraction|--limit|--warmup|--repeat) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
      --pin) value='word:auto none' ;;
      --out) value='folder' ;;
    esac ;;
    'bench collective') case $2 in
      -d|--device|--ib-dev) value='device' ;;
      --transport|--mode|--measure|--size|--processes|--repetitions|--max-posts|--memsize|--warmup|--lost-after|--procs|--rank|--ranks|--meet|--timeout|--pin) value='any' ;;
      --out) value='folder' ;;
    esac ;;
    'collective measure') case $2 in
      -d|--device|--ib-dev) value='device' ;;
      --collective|--size|--among|--repetitions|--procs|--rank|--ranks|--meet|--timeout|--pin) value='any' ;;
      --out) value='folder' ;;
    esac ;;
    'collective tune') case $2 in
      -o|--output) value='file' ;;
    esac ;;
    'report') case $2 in
      --out) value='folder' ;;
      --over|--range|--title) value='any' ;;
    esac ;;
    'trace check') case $2 in
      -d|--decode-as|--roce-port) value='any' ;;
    esac ;;
    'trace show') case $2 in
      -d|--decode-as|--roce-port|-f|--filter|-n|--limit|-t|--time) value='any' ;;
    esac ;;
    'trace info') case $2 in
      -d|--decode-as|--roce-port|--top) value='any' ;;
    esac ;;
    'trace page') case $2 in
      -o|--out) value='file' ;;
    esac ;;
    'trace convert') case $2 in
      -d|--decode-as|--roce-port|-f|--filter) value='any' ;;
      --format) value='word:pcap pcapng' ;;
    esac ;;
    'traffic server') case $2 in
      -d|--device|--ib-dev) value='device' ;;
      -x|--gid-index|-i|--ib-port|-p|--port|--source) value='any' ;;
    esac ;;
    'traffic client') case $2 in
      --pcap) value='file' ;;
      --seed|--count|--duration|--load|--bandwidth|--client|-i|--ib-port|--wait|-x|--gid-index) value='any' ;;
      --out) value='folder' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'traffic merge') case $2 in
      --out) value='folder' ;;
    esac ;;
    'traffic fit') case $2 in
      -d|--decode-as|--roce-port|--client|--server|--scale) value='any' ;;
      -o|--out) value='file' ;;
      --all) value='folder' ;;
    esac ;;
    'traffic cdf') case $2 in
      --interpolation) value='word:linear log inverse' ;;
      --unit) value='any' ;;
    esac ;;
    'collect counters') case $2 in
      --sysfs-root) value='folder' ;;
      -d|--device) value='device' ;;
      --ib-port|--interval|--count) value='any' ;;
      --token-file) value='file' ;;
    esac ;;
    'collect l2') case $2 in
      --sysfs-root) value='folder' ;;
    esac ;;
    'collect trace') case $2 in
      -i|--interface|--roce-port|-s|--snap-length|--rotate-size|--rotate-time|--rotate-files|--buffer|-c|--count|--duration) value='any' ;;
      --filter) value='word:roce v1 v2 all' ;;
      --anonymise-key|-r|--read|-w|--write) value='file' ;;
    esac ;;
    'collect session') case $2 in
      -i|--interface|--roce-port|-s|--snap-length|--rotate-size|--rotate-time|--rotate-files|--buffer|--interval|--duration) value='any' ;;
      --filter) value='word:roce v1 v2 all' ;;
      --anonymise-key) value='file' ;;
      --sysfs-root|-o|--out) value='folder' ;;
      --compress) value='word:none gzip zstd' ;;
    esac ;;
    'monitor collector') case $2 in
      --window|--memory|--by|--of|--top|--alert|--alert-webhook|--alertmanager|--listen) value='any' ;;
      --page-token-file|--page-tls-key|--page-tls-cert|--save|--alert-log|--token-file|--tls-key|--tls-cert) value='file' ;;
      --view) value='word:lines top' ;;
    esac ;;
    'monitor compare') case $2 in
      -d|--decode-as|--roce-port|--window|--memory|--by|--of|--threshold|--top|--exact-memory|--seed) value='any' ;;
    esac ;;
    'monitor report') case $2 in
      --page-token-file|--page-tls-key|--page-tls-cert) value='file' ;;
      --by|--of|--top|--per|--from|--to) value='any' ;;
    esac ;;
    'monitor watch') case $2 in
      -d|--decode-as|--roce-port|--window|--memory|--by|--of|--top|--alert|--alert-webhook|--alertmanager|--collector|--name|-i|--interface|--duration|--workers) value='any' ;;
      --page-token-file|--page-tls-key|--page-tls-cert|--save|--alert-log|--token-file|--ca|--metrics-token-file) value='file' ;;
      --view) value='word:lines top' ;;
    esac ;;
    'replay packets') case $2 in
      -d|--decode-as|--roce-port|-i|--interface|--mac|--ip|--lid|-f|--filter|--speed|--pps|--rate) value='any' ;;
      --to|--map) value='file' ;;
      --bad) value='word:keep drop mend' ;;
    esac ;;
    'replay messages') case $2 in
      -d|--decode-as|--roce-port) value='any' ;;
    esac ;;
    'replay server') case $2 in
      -p|--port|-x|--gid-index|--wait|--timeout) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'replay client') case $2 in
      --decode-as|--roce-port|--speed|--depth|-p|--port|-x|--gid-index|--wait|--timeout) value='any' ;;
      --mode) value='word:closed open' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'run') case $2 in
      -d|--device) value='device' ;;
      --name|--faults) value='any' ;;
      --tap) value='file' ;;
    esac ;;
    'gateway convert') case $2 in
      -d|--log|-i|--input-format|-o|--output-format|-t|--types) value='any' ;;
    esac ;;
    'gateway compare') case $2 in
      -d|--log|-e|--epsilon|-f|--format|-t|--types) value='any' ;;
    esac ;;
    'gateway hook') case $2 in
      -d|--log|-f|--input-format|-F|--output-format|-t|--types|-v|--vectorize|-o|--option) value='any' ;;
      -c|--config) value='file' ;;
    esac ;;
    'gateway node') case $2 in
      -d|--log|--duration) value='any' ;;
    esac ;;
    'gateway pipe') case $2 in
      -d|--log-level|-f|--format|-t|--types|-o|--option|-T|--timeout|-L|--limit-send|-l|--limit-receive) value='any' ;;
    esac ;;
    'gateway signal') case $2 in
      -d|--log|-v|--values|-r|--rate|-F|--frequency|-a|--amplitude|-D|--stddev|-o|--offset|-p|--phase|-l|--limit|-f|--format) value='any' ;;
    esac ;;
    'gateway graph') case $2 in
      -f|--format) value='any' ;;
      -o|--output) value='file' ;;
    esac ;;
    'perf send_lat') case $2 in
      -i|--ib-port|-p|--port|-x|--gid-index|-s|--size|-n|--iters|-D|--duration|-f|--margin|--warmup|-t|--tx-depth|-r|--rx-depth|-m|--mtu|-I|--inline_size|-y|--limit_msgrate|--limit-latency|--limit-lost|--rate|-S|--sl|-u|--qp-timeout|--retry_count|--bind_source_ip|--wait|--timeout|--source_ip|-M|--MGID|-L|--hop_limit|-T|--tos|-W|--report-counters|-X|--vector|--aes_block_size|--burst_size|--data_enc_keys_number|--dlid|--force-link|--inline_recv|--latency_gap|--log_active_dci_streams|--log_dci_streams|--mmap-offset|--pkey_index|--rate_limit_type|--recv_post_list|--tclass|--typical_pkt_size|--wait_destroy) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
      -c|--connection) value='word:RC UC UD' ;;
      --output) value='word:bandwidth message_rate latency' ;;
      --credentials_path|--data_enc_key_app_path|--kek_path|--mmap|--out_json_file) value='file' ;;
    esac ;;
    'perf send_bw') case $2 in
      -i|--ib-port|-p|--port|-x|--gid-index|-s|--size|-n|--iters|-D|--duration|-f|--margin|--warmup|-t|--tx-depth|-r|--rx-depth|-m|--mtu|-I|--inline_size|-q|--qp|-l|--post_list|-Q|--cq-mod|-w|--limit_bw|-y|--limit_msgrate|--rate|--rate_limit|--rate_units|-S|--sl|-u|--qp-timeout|--retry_count|--bind_source_ip|--wait|--timeout|--source_ip|-M|--MGID|-L|--hop_limit|-T|--tos|-W|--report-counters|-X|--vector|--aes_block_size|--burst_size|--data_enc_keys_number|--dlid|--force-link|--inline_recv|--latency_gap|--log_active_dci_streams|--log_dci_streams|--mmap-offset|--pkey_index|--rate_limit_type|--recv_post_list|--tclass|--typical_pkt_size|--wait_destroy) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
      -c|--connection) value='word:RC UC UD' ;;
      --output) value='word:bandwidth message_rate latency' ;;
      --credentials_path|--data_enc_key_app_path|--kek_path|--mmap|--out_json_file) value='file' ;;
    esac ;;
    'perf write_lat') case $2 in
      -i|--ib-port|-p|--port|-x|--gid-index|-s|--size|-n|--iters|-D|--duration|-f|--margin|--warmup|-t|--tx-depth|-m|--mtu|-I|--inline_size|-y|--limit_msgrate|--limit-latency|--limit-lost|--rate|-S|--sl|-u|--qp-timeout|--retry_count|--bind_source_ip|--wait|--timeout|--source_ip|-M|--MGID|-L|--hop_limit|-T|--tos|-W|--report-counters|-X|--vector|--aes_block_size|--burst_size|--data_enc_keys_number|--dlid|--force-link|--inline_recv|--latency_gap|--log_active_dci_streams|--log_dci_streams|--mmap-offset|--pkey_index|--rate_limit_type|--recv_post_list|--tclass|--typical_pkt_size|--wait_destroy) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
      -c|--connection) value='word:RC UC' ;;
      --output) value='word:bandwidth message_rate latency' ;;
      --credentials_path|--data_enc_key_app_path|--kek_path|--mmap|--out_json_file) value='file' ;;
    esac ;;
    'perf write_bw') case $2 in
      -i|--ib-port|-p|--port|-x|--gid-index|-s|--size|-n|--iters|-D|--duration|-f|--margin|--warmup|-t|--tx-depth|-m|--mtu|-I|--inline_size|-q|--qp|-l|--post_list|-Q|--cq-mod|-w|--limit_bw|-y|--limit_msgrate|--rate|--rate_limit|--rate_units|-S|--sl|-u|--qp-timeout|--retry_count|--bind_source_ip|--wait|--timeout|--source_ip|-M|--MGID|-L|--hop_limit|-T|--tos|-W|--report-counters|-X|--vector|--aes_block_size|--burst_size|--data_enc_keys_number|--dlid|--force-link|--inline_recv|--latency_gap|--log_active_dci_streams|--log_dci_streams|--mmap-offset|--pkey_index|--rate_limit_type|--recv_post_list|--tclass|--typical_pkt_size|--wait_destroy) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
      -c|--connection) value='word:RC UC' ;;
      --output) value='word:bandwidth message_rate latency' ;;
      --credentials_path|--data_enc_key_app_path|--kek_path|--mmap|--out_json_file) value='file' ;;
    esac ;;
    'perf read_lat') case $2 in
      -i|--ib-port|-p|--port|-x|--gid-index|-s|--size|-n|--iters|-D|--duration|-f|--margin|--warmup|-t|--tx-depth|-m|--mtu|-o|--outs|-y|--limit_msgrate|--limit-latency|--limit-lost|--rate|-S|--sl|-u|--qp-timeout|--retry_count|--bind_source_ip|--wait|--timeout|--source_ip|-M|--MGID|-L|--hop_limit|-T|--tos|-W|--report-counters|-X|--vector|--aes_block_size|--burst_size|--data_enc_keys_number|--dlid|--force-link|--inline_recv|--latency_gap|--log_active_dci_streams|--log_dci_streams|--mmap-offset|--pkey_index|--rate_limit_type|--recv_post_list|--tclass|--typical_pkt_size|--wait_destroy) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
      -c|--connection) value='word:RC' ;;
      --output) value='word:bandwidth message_rate latency' ;;
      --credentials_path|--data_enc_key_app_path|--kek_path|--mmap|--out_json_file) value='file' ;;
    esac ;;
    'perf read_bw') case $2 in
      -i|--ib-port|-p|--port|-x|--gid-index|-s|--size|-n|--iters|-D|--duration|-f|--margin|--warmup|-t|--tx-depth|-m|--mtu|-o|--outs|-q|--qp|-l|--post_list|-Q|--cq-mod|-w|--limit_bw|-y|--limit_msgrate|--rate|--rate_limit|--rate_units|-S|--sl|-u|--qp-timeout|--retry_count|--bind_source_ip|--wait|--timeout|--source_ip|-M|--MGID|-L|--hop_limit|-T|--tos|-W|--report-counters|-X|--vector|--aes_block_size|--burst_size|--data_enc_keys_number|--dlid|--force-link|--inline_recv|--latency_gap|--log_active_dci_streams|--log_dci_streams|--mmap-offset|--pkey_index|--rate_limit_type|--recv_post_list|--tclass|--typical_pkt_size|--wait_destroy) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
      -c|--connection) value='word:RC' ;;
      --output) value='word:bandwidth message_rate latency' ;;
      --credentials_path|--data_enc_key_app_path|--kek_path|--mmap|--out_json_file) value='file' ;;
    esac ;;
    'perf atomic_lat') case $2 in
      -i|--ib-port|-p|--port|-x|--gid-index|-n|--iters|-D|--duration|-f|--margin|--warmup|-t|--tx-depth|-m|--mtu|-o|--outs|-y|--limit_msgrate|--limit-latency|--limit-lost|--rate|-S|--sl|-u|--qp-timeout|--retry_count|--bind_source_ip|--wait|--timeout|--source_ip|-M|--MGID|-L|--hop_limit|-T|--tos|-W|--report-counters|-X|--vector|--aes_block_size|--burst_size|--data_enc_keys_number|--dlid|--force-link|--inline_recv|--latency_gap|--log_active_dci_streams|--log_dci_streams|--mmap-offset|--pkey_index|--rate_limit_type|--recv_post_list|--tclass|--typical_pkt_size|--wait_destroy) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
      -c|--connection) value='word:RC' ;;
      -A|--atomic_type) value='word:FETCH_AND_ADD CMP_AND_SWAP' ;;
      --output) value='word:bandwidth message_rate latency' ;;
      --credentials_path|--data_enc_key_app_path|--kek_path|--mmap|--out_json_file) value='file' ;;
    esac ;;
    'perf atomic_bw') case $2 in
      -i|--ib-port|-p|--port|-x|--gid-index|-n|--iters|-D|--duration|-f|--margin|--warmup|-t|--tx-depth|-m|--mtu|-o|--outs|-q|--qp|-l|--post_list|-Q|--cq-mod|-w|--limit_bw|-y|--limit_msgrate|--rate|--rate_limit|--rate_units|-S|--sl|-u|--qp-timeout|--retry_count|--bind_source_ip|--wait|--timeout|--source_ip|-M|--MGID|-L|--hop_limit|-T|--tos|-W|--report-counters|-X|--vector|--aes_block_size|--burst_size|--data_enc_keys_number|--dlid|--force-link|--inline_recv|--latency_gap|--log_active_dci_streams|--log_dci_streams|--mmap-offset|--pkey_index|--rate_limit_type|--recv_post_list|--tclass|--typical_pkt_size|--wait_destroy) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
      -c|--connection) value='word:RC' ;;
      -A|--atomic_type) value='word:FETCH_AND_ADD CMP_AND_SWAP' ;;
      --output) value='word:bandwidth message_rate latency' ;;
      --credentials_path|--data_enc_key_app_path|--kek_path|--mmap|--out_json_file) value='file' ;;
    esac ;;
    'rc_pingpong') case $2 in
      -p|--port|-i|--ib-port|-s|--size|-m|--mtu|-r|--rx-depth|-n|--iters|-l|--sl|-g|--gid-index|--wait|--timeout|--gid-idx) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'uc_pingpong') case $2 in
      -p|--port|-i|--ib-port|-s|--size|-m|--mtu|-r|--rx-depth|-n|--iters|-l|--sl|-g|--gid-index|--wait|--timeout|--gid-idx) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'ud_pingpong') case $2 in
      -p|--port|-i|--ib-port|-s|--size|-r|--rx-depth|-n|--iters|-l|--sl|-g|--gid-index|--wait|--timeout|--gid-idx) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'srq_pingpong') case $2 in
      -p|--port|-i|--ib-port|-s|--size|-m|--mtu|-q|--num-qp|-r|--rx-depth|-n|--iters|-l|--sl|-g|--gid-index|--wait|--timeout|--gid-idx) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'rping') case $2 in
      -a|-I|-p|-C|-S|--wait|--timeout) value='any' ;;
      --device|--ib-dev) value='device' ;;
    esac ;;
    'ucmatose') case $2 in
      -s|-b|-c|-C|-S|-p|-t|-a|--wait|--timeout) value='any' ;;
      -f) value='word:name ip ipv6 gid' ;;
      -P) value='word:tcp ib' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'udaddy') case $2 in
      -s|-b|-c|-C|-S|-p|-t|--wait|--timeout) value='any' ;;
      -f) value='word:name ip ipv6 gid' ;;
      -P) value='word:udp ipoib' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'mckey') case $2 in
      -m|-M|-b|-c|-C|-S|-p|--settle|--wait|--timeout) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'cmtime') case $2 in
      -s|-b|-c|-p|-r|-t|--wait|--timeout) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'rstream') case $2 in
      -s|-b|-B|-i|-I|-C|-S|-p|-k|-T|--wait|--timeout) value='any' ;;
      -f) value='word:name ip ipv6 gid' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'riostream') case $2 in
      -s|-b|-B|-i|-I|-C|-S|-p|-T|--wait|--timeout) value='any' ;;
      -f) value='word:name ip ipv6 gid' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'rcopy') case $2 in
      -p|--wait|--timeout) value='any' ;;
      --dir) value='folder' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'udpong') case $2 in
      -s|-b|-B|-C|-S|-p|-T|--wait|--timeout) value='any' ;;
      -d|--device|--ib-dev) value='device' ;;
    esac ;;
    'devinfo') case $2 in
      -d|--device|--ib-dev) value='device' ;;
      -i|--ib-port) value='any' ;;
    esac ;;
  esac
}

complete -F _verbena verbena
