// `node mysql.mjs PORT HOST`: what a program does with MariaDB, with a connect timeout of two seconds.
import mysql from 'mysql2/promise'

const [port, host] = process.argv.slice(2)
const options = { host, port: Number(port), user: 'tester', password: 'secret', database: 'test', connectTimeout: 2000 }
const show = (...values) => console.log(...values)

const connection = await mysql.createConnection(options)
await connection.query('create temporary table t (n int, body longtext)')
await connection.query('insert into t select seq, repeat(char(97 + seq % 26), seq) from seq_1_to_500')
const [rows] = await connection.execute('select count(*) as count, sum(length(body)) as bytes from t where n > ?', [10])
show('rows', rows[0].count, Number(rows[0].bytes))
const big = 'y'.repeat(3_000_000)
await connection.execute('insert into t values (?, ?)', [1000, big])
const [[back]] = await connection.execute('select body from t where n = 1000')
show('big', back.body === big)
const [error] = await connection.query('select nonsense').catch((error) => [error])
show('error', error.code)
const pool = mysql.createPool({ ...options, connectionLimit: 5 })
const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => pool.query('select ? as n', [n])))
show('pool', answers.map(([[row]]) => row.n).join(' '))

const victim = await mysql.createConnection(options)
const gone = new Promise((resolve) => victim.once('error', resolve))
await connection.query(`kill ${victim.threadId}`)
show('killed', ['PROTOCOL_CONNECTION_LOST', 'ECONNRESET', 'ER_CONNECTION_KILLED'].includes((await gone).code))
await pool.end()
await connection.end()
const wrong = await mysql.createConnection({ ...options, password: 'wrong' }).catch((error) => error)
show('wrong password', wrong.code)
const refused = await mysql.createConnection({ ...options, port: 1 }).catch((error) => error)
show('refused', refused.code)
