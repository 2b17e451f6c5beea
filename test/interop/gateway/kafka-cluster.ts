/**
 * A cluster of Kafka, with one broker in memory: the mock cluster of librdkafka, in a process of kcat. It speaks the protocol, groups of
 * consumers included, without TLS and SASL, and tells clients the port on which it listens itself.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

export class KafkaCluster {
  port = 0
  #child: ChildProcess | undefined

  /** Starts one without any topics, on a port of its own choice. */
  async start(): Promise<void> {
    // The consumer that carries the cluster waits for messages of a topic that gets none.
    const child = spawn('kcat', ['-C', '-X', 'test.mock.num.brokers=1', '-b', 'none', '-t', 'none', '-q'])
    this.#child = child
    let output = ''
    child.stdout.resume()
    for await (const text of child.stderr) {
      output += text
      const [, port] = /Mock cluster enabled: .* 127\.0\.0\.1:(\d+)/.exec(output) ?? []
      if (port === undefined) continue
      this.port = Number(port)
      return
    }
    throw new Error(`kcat has ended:\n${output}`)
  }

  /** What a broker says, with another port in place of its own. */
  readonly withPort = (bytes: Buffer, port: number): Buffer => {
    const address = (number: number): Buffer => {
      const result = Buffer.from('\0\u0009127.0.0.1####', 'latin1')
      result.writeUInt32BE(number, result.length - 4)
      return result
    }
    const own = address(this.port)
    for (let at = bytes.indexOf(own); at >= 0; at = bytes.indexOf(own, at + own.length)) address(port).copy(bytes, at)
    return bytes
  }

  /** Sends a message by kcat, with more of its options if need be. */
  async produce(topic: string, message: string, ...options: string[]): Promise<void> {
    await this.#kcat(['-P', '-t', topic, ...options], message)
  }

  /** The first messages of a topic, as kcat reads them, with a line break behind each. */
  consume(topic: string, count: number): Promise<string> {
    return this.#kcat(['-C', '-t', topic, '-o', 'beginning', '-c', String(count), '-q'], '')
  }

  async #kcat(parameters: readonly string[], input: string): Promise<string> {
    const child = spawn('kcat', ['-b', `127.0.0.1:${this.port}`, ...parameters], { timeout: 20_000 })
    let [output, errors] = ['', '']
    child.stdout.on('data', (text) => (output += text))
    child.stderr.on('data', (text) => (errors += text))
    child.stdin.end(input)
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`kcat ${parameters.join(' ')} ended with ${code}: ${errors}`)
    return output
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
}
