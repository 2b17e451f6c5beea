// `node pg.mjs PORT HOST`: what a program does with PostgreSQL, with a connect timeout of two seconds.
import pg from 'pg'

const [port, host] = process.argv.slice(2)
const options = { host, port: Number(port), user: 'postgres', database: 'postgres', connectionTimeoutMillis: 2000 }
const show = (...values) => console.log(...values)

const client = new pg.Client(options)
await client.connect()
show('version', (await client.query('show server_version_num')).rows[0].server_version_num.length)
await client.query('create temp table t (n int, text text)')
await client.query("insert into t select n, repeat('x', n % 100) from generate_series(1, 5000) n")
const { rows } = await client.query('select count(*)::int, sum(length(text))::int from t where n > $1', [10])
show('rows', rows[0].count, rows[0].sum)
const all = await client.query('select * from t order by n')
show('all', all.rows.length, all.rows[99].text.length)

const listener = new pg.Client(options)
await listener.connect()
await listener.query('listen news')
const heard = new Promise((resolve) => listener.once('notification', resolve))
await client.query("notify news, 'hello'")
show('notified', (await heard).payload)

const failed = await client.query('select nonsense').catch((error) => error)
show('error', failed.code)
const ended = new Promise((resolve) => listener.once('end', resolve))
listener.on('error', (error) => show('listener', error.code))
await client.query('select pg_terminate_backend($1)', [listener.processID])
await ended
show('listener ended')

const pool = new pg.Pool({ ...options, max: 5, idleTimeoutMillis: 100 })
const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => pool.query('select $1::int as n', [n])))
show('pool', answers.map((answer) => answer.rows[0].n).join(' '))
await pool.end()
await client.end()

const refused = new pg.Client({ ...options, port: 1 })
show('refused', (await refused.connect().catch((error) => error)).code)
