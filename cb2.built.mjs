import { createRequire } from "node:module";
import { AsyncResource } from "node:async_hooks";
import * as fs from "node:fs";
import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, readdirSync, readlinkSync, rmSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { BroadcastChannel, Worker, getEnvironmentData, isMainThread, setEnvironmentData } from "node:worker_threads";
import { setTimeout as setTimeout$1 } from "node:timers/promises";
import { constants as constants$1 } from "node:buffer";
import { randomBytes, randomInt } from "node:crypto";
import { basename, dirname, join, resolve } from "node:path";
import { availableParallelism, constants as constants$2, networkInterfaces, tmpdir } from "node:os";
// \0rolldown/runtime.js
var __defProp = Object.defineProperty;
var __exportAll = (all, no_symbols) => {
	let target = {};
	for (var name in all) __defProp(target, name, {
		get: all[name],
		enumerable: true
	});
	if (!no_symbols) __defProp(target, Symbol.toStringTag, { value: "Module" });
	return target;
};
new AsyncResource("VERBENA");
// src/memory/clock.ts
/**
* One clock for every thread and process of the host: CLOCK_MONOTONIC (on other platforms what libuv takes in its
* place), in whole nanoseconds as a number: exact up to 2^53, that is 104 days after the machine started.
*/
const hrtime = process.hrtime;
const sleeper$1 = new Int32Array(new SharedArrayBuffer(4));
/**
* Now, nanoseconds. Measured on Node 20, nanoseconds a call: this 30 to 37 (and 32 bytes of short-lived garbage);
* clock_gettime through koffi 40 to 60; Number(process.hrtime.bigint()) 36 to 54; performance.now() 42 to 53.
*/
function nowNs() {
	const time = hrtime();
	return time[0] * 1e9 + time[1];
}
/** Waits without giving the core away. Exact to the cost of one look at the clock. */
function spinUntilNs(untilNs) {
	while (nowNs() < untilNs);
}
/** A sleeping thread wakes 80 µs (median) to 130 µs late; the rest of a pause is spent spinning. */
const sleepSlackNs = 1e5;
/** Blocks this thread until then: asleep while that is exact enough, then spinning. For pauses of up to seconds. */
function sleepUntilNs(untilNs) {
	for (;;) {
		const remainingNs = untilNs - nowNs();
		if (remainingNs <= sleepSlackNs) break;
		Atomics.wait(sleeper$1, 0, 0, (remainingNs - sleepSlackNs) / 1e6);
	}
	spinUntilNs(untilNs);
}
// src/memory/entry-module.ts
/**
* Modules that threads and processes start with. In the package all of them lie in one folder, beside the chunk that any
* other module was bundled into; in development each is where it was written. The build finds the calls below, so the
* path has to be a literal, and base names have to be unique.
*/
/** The URL of the module `path`, without suffix, relative to the module whose `import.meta.url` is `from`. */
function entryModule(from, path) {
	if (from.endsWith(".ts")) return new URL(`${path}.ts`, from);
	return new URL(`./${path.slice(path.lastIndexOf("/") + 1)}.js`, from);
}
// src/memory/native/error.ts
/**
* A call to the operating system that failed. The text says what was tried, why it failed and what to do about it;
* `code` is the stable name of the error (`ENOSPC`), `errno` its number here, `syscall` the call.
*/
var NativeError = class extends Error {
	name = "NativeError";
	code;
	errno;
	syscall;
	constructor(code, errno, syscall, message) {
		super(`${message} (${syscall}: ${code})`);
		this.code = code;
		this.errno = errno;
		this.syscall = syscall;
	}
};
/** Numbers of the errors that this folder meets; the same on every Linux architecture that Node runs on. */
const errnoNumbers = {
	EPERM: 1,
	ENOENT: 2,
	EINTR: 4,
	EIO: 5,
	EBADF: 9,
	EAGAIN: 11,
	ENOMEM: 12,
	EACCES: 13,
	EFAULT: 14,
	EEXIST: 17,
	ENODEV: 19,
	EINVAL: 22,
	ENFILE: 23,
	EMFILE: 24,
	ENOSPC: 28,
	ENOSYS: 38,
	EPIPE: 32,
	ELOOP: 40,
	EPROTO: 71,
	EMSGSIZE: 90,
	ENOPROTOOPT: 92,
	EOPNOTSUPP: 95,
	EAFNOSUPPORT: 97,
	EADDRINUSE: 98,
	EADDRNOTAVAIL: 99,
	ENETDOWN: 100,
	ENETUNREACH: 101,
	ECONNRESET: 104,
	ENOBUFS: 105,
	ETIMEDOUT: 110,
	ECONNREFUSED: 111,
	EHOSTUNREACH: 113
};
const errnos = errnoNumbers;
/** `EAGAIN` for 11; `errno 200` for a number without a name here. */
function errnoName(errno) {
	for (const [name, value] of Object.entries(errnoNumbers)) if (value === errno) return name;
	return `errno ${errno}`;
}
/** What VERBENA_SHM_MIB is, for errors that another value may help with. */
function segmentSetting() {
	return `it is ${process.env.VERBENA_SHM_MIB || `1024, the default`}`;
}
const advice$1 = {
	EACCES: "it belongs to another user: use the same account for all programs, or another name",
	EPERM: "the system does not permit it: check the limits and capabilities of this account or container",
	ENOENT: "there is no such segment: start the program that makes it first",
	EEXIST: "it exists already: open it, use another name, or delete it in /dev/shm",
	EROFS: "it is on a read-only file system: mount a tmpfs at /dev/shm (docker run --tmpfs /dev/shm)",
	ENOSPC: () => `not enough shared memory: delete old segments in /dev/shm, make it larger (docker run --shm-size), or let segments take less (VERBENA_SHM_MIB; ${segmentSetting()})`,
	ENOMEM: () => `not enough memory or address space: ask for less (VERBENA_SHM_MIB; ${segmentSetting()}), or raise \`ulimit -v\` and vm.overcommit_memory`,
	EMFILE: "too many open files: raise `ulimit -n`",
	ENFILE: "too many open files in the system",
	ELOOP: "it is a symbolic link: delete it"
};
/** The error for `what` ("segment 'x' could not be mapped"), with advice for the codes that have any. */
function nativeError(syscall, code, errno, what) {
	const known = advice$1[code];
	const todo = typeof known === "function" ? known() : known;
	return new NativeError(code, errno, syscall, todo === void 0 ? what : `${what}: ${todo}`);
}
// src/memory/native/loading.ts
/**
* A thread that is ended while it loads native code can take the process with it: the addon throws into an environment
* that takes no exception any more, which is fatal (`ThrowAsJavaScriptException napi_throw`). So loading goes through
* gates. A thread passes those of all that may end it: of each thread above it, which ends what it has started when it
* ends itself, and of `startThread`, whose threads can be terminated. Code that ends threads closes the gate first and waits
* until nobody loads behind it; a thread at a closed gate blocks until it is terminated. It never runs again, whatever it was in the
* middle of: `onPark` tells the threads that would wait for it.
*
* A thread that was started without `startThread` and is terminated while it loads is beyond this.
*/
/** Under this key threads inherit the gates above them. */
const key$1 = "verbena gates";
const Gate = {
	loaders: 0,
	closed: 1
};
/** A thread that was killed while it loaded does not hold up others any longer. */
const patienceMs = 2e3;
function makeGate() {
	return new Int32Array(new SharedArrayBuffer(8));
}
/** The gates that this thread loads behind. */
const gates = (getEnvironmentData(key$1) ?? []).map((words) => new Int32Array(words));
/** The gate of all threads below this one. */
const below = makeGate();
inherit([...gates, below]);
function inherit(all) {
	setEnvironmentData(key$1, all.map(({ buffer }) => buffer));
}
/** Runs `start`, which starts a thread, behind one more gate. */
function behind(gate, start) {
	inherit([
		...gates,
		below,
		gate
	]);
	try {
		return start();
	} finally {
		inherit([...gates, below]);
	}
}
const stopped = [];
/**
* `callback` runs when this thread comes to a closed gate, where it stays until it is ended: as if it had died there, in
* the middle of an operation perhaps. What it holds must be free for others to take, since the thread that ends it may wait for that.
*/
function whenStopped(callback) {
	stopped.push(callback);
}
let loading$1 = false;
/** Runs what loads native code or has it make objects; nobody ends this thread meanwhile. */
function gated(load) {
	if (loading$1) return load();
	for (const gate of gates) Atomics.add(gate, Gate.loaders, 1);
	const closed = gates.find((gate) => Atomics.load(gate, Gate.closed) === 1);
	loading$1 = true;
	try {
		if (closed === void 0) return load();
	} finally {
		loading$1 = false;
		for (const gate of gates) {
			Atomics.sub(gate, Gate.loaders, 1);
			Atomics.notify(gate, Gate.loaders);
		}
	}
	return stopForGood();
}
/** This thread, which is about to be ended, runs no further. Not for the main thread, which nobody ends. */
function stopForGood() {
	for (const callback of stopped) callback();
	const never = makeGate();
	for (;;) Atomics.wait(never, Gate.closed, 0);
}
/** Resolves when nobody loads behind the gate, and nobody will. */
async function closeGate(gate) {
	Atomics.store(gate, Gate.closed, 1);
	const deadline = performance.now() + patienceMs;
	while (Atomics.load(gate, Gate.loaders) > 0 && performance.now() < deadline) await setTimeout$1(1);
}
process.on("exit", () => {
	Atomics.store(below, Gate.closed, 1);
	const deadline = performance.now() + patienceMs;
	for (let n = Atomics.load(below, Gate.loaders); n > 0; n = Atomics.load(below, Gate.loaders)) {
		if (performance.now() > deadline) break;
		Atomics.wait(below, Gate.loaders, n, 5);
	}
});
// src/memory/native/libc.ts
/**
* The C library, called through koffi. This folder is the only one that knows koffi: an optional dependency that is
* loaded when it is there, on 64-bit Linux. Without it everything here reports "not available".
*
* Addresses travel as numbers: user space ends below 2^47, koffi takes a number where the prototype says `uint64_t`,
* and a number costs no allocation where its bigint pointers do.
*/
/** What differs between architectures: the numbers of the system calls that have no function in every C library. */
const generic = {
	futex: 98,
	mlock2: 284,
	membarrier: 283,
	io: {
		setup: 0,
		destroy: 1,
		submit: 2,
		getevents: 4
	}
};
const syscallNumbers = {
	x64: {
		futex: 202,
		mlock2: 325,
		membarrier: 324,
		io: {
			setup: 206,
			destroy: 207,
			submit: 209,
			getevents: 208
		}
	},
	arm64: generic,
	riscv64: generic,
	loong64: generic
};
function open$2() {
	if (process.env.VERBENA_NO_NATIVE === "1") return {
		libc: null,
		reason: "turned off by VERBENA_NO_NATIVE=1"
	};
	if (process.platform !== "linux") return {
		libc: null,
		reason: `the platform is ${process.platform}, not Linux`
	};
	const numbers = syscallNumbers[process.arch];
	if (numbers === void 0) return {
		libc: null,
		reason: `the architecture ${process.arch} is not supported`
	};
	try {
		const koffi = createRequire(import.meta.url)("koffi");
		const c = koffi.load(null);
		return {
			reason: "",
			libc: {
				koffi,
				futexNumber: numbers.futex,
				mlock2Number: numbers.mlock2,
				membarrierNumber: numbers.membarrier,
				io: numbers.io,
				mmap: c.func("mmap", "int64_t", [
					"uint64_t",
					"uint64_t",
					"int",
					"int",
					"int",
					"int64_t"
				]),
				munmap: c.func("munmap", "int", ["uint64_t", "uint64_t"]),
				mprotect: c.func("mprotect", "int", [
					"uint64_t",
					"uint64_t",
					"int"
				]),
				madvise: c.func("madvise", "int", [
					"uint64_t",
					"uint64_t",
					"int"
				]),
				syscall: c.func("syscall", "int64_t", [
					"int64_t",
					"uint64_t",
					"int64_t",
					"int64_t",
					"uint64_t",
					"uint64_t",
					"int64_t"
				]),
				clockGettime: c.func("clock_gettime", "int", ["int", "uint64_t"]),
				schedSetaffinity: c.func("sched_setaffinity", "int", [
					"int",
					"uint64_t",
					"uint64_t"
				]),
				schedGetaffinity: c.func("sched_getaffinity", "int", [
					"int",
					"uint64_t",
					"uint64_t"
				]),
				socket: c.func("socket", "int", [
					"int",
					"int",
					"int"
				]),
				bind: c.func("bind", "int", [
					"int",
					"uint64_t",
					"uint32_t"
				]),
				getsockname: c.func("getsockname", "int", [
					"int",
					"uint64_t",
					"uint64_t"
				]),
				setsockopt: c.func("setsockopt", "int", [
					"int",
					"int",
					"int",
					"uint64_t",
					"uint32_t"
				]),
				getsockopt: c.func("getsockopt", "int", [
					"int",
					"int",
					"int",
					"uint64_t",
					"uint64_t"
				]),
				listen: c.func("listen", "int", ["int", "int"]),
				accept4: c.func("accept4", "int", [
					"int",
					"uint64_t",
					"uint64_t",
					"int"
				]),
				connect: c.func("connect", "int", [
					"int",
					"uint64_t",
					"uint32_t"
				]),
				getpeername: c.func("getpeername", "int", [
					"int",
					"uint64_t",
					"uint64_t"
				]),
				shutdown: c.func("shutdown", "int", ["int", "int"]),
				send: c.func("send", "int64_t", [
					"int",
					"uint64_t",
					"uint64_t",
					"int"
				]),
				recv: c.func("recv", "int64_t", [
					"int",
					"uint64_t",
					"uint64_t",
					"int"
				]),
				sendto: c.func("sendto", "int64_t", [
					"int",
					"uint64_t",
					"uint64_t",
					"int",
					"uint64_t",
					"uint32_t"
				]),
				recvfrom: c.func("recvfrom", "int64_t", [
					"int",
					"uint64_t",
					"uint64_t",
					"int",
					"uint64_t",
					"uint64_t"
				]),
				sendmsg: c.func("sendmsg", "int64_t", [
					"int",
					"uint64_t",
					"int"
				]),
				sendmmsg: c.func("sendmmsg", "int", [
					"int",
					"uint64_t",
					"uint32_t",
					"int"
				]),
				recvmsg: c.func("recvmsg", "int64_t", [
					"int",
					"uint64_t",
					"int"
				]),
				ioctl: c.func("ioctl", "int", [
					"int",
					"uint64_t",
					"uint64_t"
				]),
				ifNametoindex: c.func("if_nametoindex", "uint32_t", ["str"]),
				poll: c.func("poll", "int", [
					"uint64_t",
					"uint64_t",
					"int"
				]),
				ppoll: c.func("ppoll", "int", [
					"uint64_t",
					"uint64_t",
					"uint64_t",
					"uint64_t"
				]),
				timerfdCreate: c.func("timerfd_create", "int", ["int", "int"]),
				timerfdSettime: c.func("timerfd_settime", "int", [
					"int",
					"int",
					"uint64_t",
					"uint64_t"
				]),
				pipe2: c.func("pipe2", "int", ["uint64_t", "int"]),
				dup3: c.func("dup3", "int", [
					"int",
					"int",
					"int"
				]),
				eventfd: c.func("eventfd", "int", ["uint32_t", "int"]),
				open: c.func("open", "int", ["str", "int"]),
				flock: c.func("flock", "int", ["int", "int"]),
				fallocate: c.func("fallocate", "int", [
					"int",
					"int",
					"int64_t",
					"int64_t"
				]),
				read: c.func("read", "int64_t", [
					"int",
					"uint64_t",
					"uint64_t"
				]),
				write: c.func("write", "int64_t", [
					"int",
					"uint64_t",
					"uint64_t"
				]),
				close: c.func("close", "int", ["int"])
			}
		};
	} catch (error) {
		if (error.code === "MODULE_NOT_FOUND") return {
			libc: null,
			reason: "the package koffi is not installed: npm install koffi"
		};
		return {
			libc: null,
			reason: `the package koffi does not load: ${error.message}`
		};
	}
}
const opened = gated(open$2);
const libc = opened.libc;
/** True if the functions of this folder work here. */
const nativeAvailable = libc !== null;
/** Why they do not; empty if they do. */
const nativeReason = opened.reason;
/** The C library, or a `NativeError` with code `EOPNOTSUPP` where there is none. */
function requireLibc(syscall) {
	if (libc === null) throw new NativeError("EOPNOTSUPP", 95, syscall, `not available here: ${nativeReason}`);
	return libc;
}
/** Memory that the C library may write and JavaScript read: its address, and a view that stays valid for ever. */
function nativeScratch(sizeBytes) {
	const { koffi } = requireLibc("malloc");
	const pointer = gated(() => koffi.alloc("int64_t", Math.ceil(sizeBytes / 8)));
	const buffer = gated(() => koffi.view(pointer, sizeBytes));
	return {
		address: Number(pointer),
		u32: new Uint32Array(buffer),
		u8: new Uint8Array(buffer).fill(0)
	};
}
// src/memory/native/crc32.ts
/**
* CRC-32 as zlib counts it, in native code: by a library of the system that uses more of the processor than Node's own
* zlib does, where one is installed, else by that zlib. Measured on Node 20, an AMD EPYC with AVX-512, nanoseconds with the call:
*
*     bytes                        64   256  1024  4096  65536
*     ISA-L 2.30 (libisal2)        54    59    71   120   1192
*     libdeflate 1.14              59    88   128   348   4670
*     zlib of Node (zlib.crc32)   157   167   305   768  10380
*
* `VERBENA_CRC32` names the one to use: `isa-l`, `libdeflate` or `zlib`.
*/
/** The file that the dynamic linker finds, and a function (crc, address, bytes). */
const known$1 = {
	"isa-l": {
		file: "libisal.so.2",
		symbol: "crc32_gzip_refl"
	},
	libdeflate: {
		file: "libdeflate.so.0",
		symbol: "libdeflate_crc32"
	}
};
/** Of "123456789". */
const checkValue = -873187034;
/** The library, or null if it is not there or does not compute what it should. */
function find$1(koffi, name) {
	let call;
	try {
		call = koffi.load(known$1[name].file).func(known$1[name].symbol, "int32_t", [
			"int32_t",
			"uint64_t",
			"uint64_t"
		]);
	} catch {
		return null;
	}
	let buffer = null;
	let base = 0;
	const update = (crc, b, start, end) => {
		if (b.buffer !== buffer) {
			buffer = b.buffer;
			base = Number(koffi.address(new Uint8Array(buffer)));
		}
		return call(crc, base + b.byteOffset + start, end - start);
	};
	return update(0, new TextEncoder().encode("123456789"), 0, 9) === checkValue ? {
		name,
		fromBytes: 80,
		update
	} : null;
}
/** A call costs 100 ns, and a subarray. Loaded when it is asked for, since few programs need it. */
function zlibCrc32() {
	const { crc32 } = createRequire(import.meta.url)("node:zlib");
	return {
		name: "zlib",
		fromBytes: 256,
		update: (crc, b, start, end) => crc32(b.subarray(start, end), crc >>> 0)
	};
}
function fastest() {
	const wanted = process.env.VERBENA_CRC32 ?? "";
	if (libc === null || wanted === "zlib") return zlibCrc32();
	for (const name of ["isa-l", "libdeflate"]) {
		if (wanted !== "" && wanted !== name) continue;
		const found = find$1(libc.koffi, name);
		if (found !== null) return found;
	}
	if (wanted !== "" && isMainThread) warn(wanted);
	return zlibCrc32();
}
function warn(wanted) {
	const why = Object.hasOwn(known$1, wanted) ? "is not installed here" : "is none of isa-l, libdeflate and zlib";
	process.emitWarning(`VERBENA_CRC32: '${wanted}' ${why}; zlib is used`, { code: "VERBENA_CRC32" });
}
let found;
/** The fastest that is installed. Looking for it takes milliseconds, the first time. */
function nativeCrc32() {
	found ??= gated(fastest);
	return found;
}
// src/memory/native/poll.ts
/** Blocking until one of several descriptors can be read (ppoll), event descriptors that end such a wait, and pipes. */
const POLLIN$1 = 1;
const EFD_NONBLOCK_CLOEXEC = 526336;
/** struct timespec, and a 64-bit value. */
const scratch$6 = libc === null ? null : nativeScratch(32);
const timespecAddress = scratch$6?.address ?? 0;
/** What is read from pipes, for nobody. */
const drainedBytes = 512;
const drainedAddress = libc === null ? 0 : nativeScratch(drainedBytes).address;
const valueAddress = timespecAddress + 16;
/** struct pollfd { int fd; short events, revents } each: for as many as were ever watched, in powers of two. */
let pollRoom = 64;
let polled = libc === null ? null : nativeScratch(pollRoom * 8);
function makeRoom(count) {
	while (pollRoom < count) pollRoom *= 2;
	polled = nativeScratch(pollRoom * 8);
}
/**
* Blocks this thread until one of the first `count` of `fds` can be read, at most `timeoutMs` (fractions count, to
* the nanosecond; Infinity: without end). Returns how many can: 0 after the time, or earlier after a signal. `ready`, if
* given, gets 1 or 0 for each. A negative number stands for no descriptor. A descriptor that is closed or broken counts as ready: reading it tells.
*/
function waitReadable$1(fds, count, timeoutMs, ready) {
	const { ppoll, koffi } = requireLibc("ppoll");
	if (count < 0 || count > 65536 || count > fds.length) throw new NativeError("EINVAL", errnos.EINVAL, "ppoll", `${count} descriptors cannot be watched at a time`);
	if (count > pollRoom) makeRoom(count);
	const { u32 } = scratch$6;
	const { u32: polls, address } = polled;
	for (let i = 0; i < count; i++) {
		polls[2 * i] = fds[i];
		polls[1 + 2 * i] = POLLIN$1;
	}
	let timespec = 0;
	if (timeoutMs !== Number.POSITIVE_INFINITY) {
		const ms = Math.max(timeoutMs, 0);
		const seconds = Math.floor(ms / 1e3);
		u32[0] = seconds;
		u32[1] = 0;
		u32[2] = Math.floor((ms - seconds * 1e3) * 1e6);
		u32[3] = 0;
		timespec = timespecAddress;
	}
	const result = ppoll(address, count, timespec, 0);
	if (result < 0) {
		const errno = koffi.errno();
		if (errno !== errnos.EINTR) throw nativeError("ppoll", errnoName(errno), errno, "the wait failed");
	}
	if (ready !== void 0) for (let i = 0; i < count; i++) ready[i] = result > 0 && polls[1 + 2 * i] >>> 16 !== 0 ? 1 : 0;
	return Math.max(result, 0);
}
/** A descriptor that is readable from `signalEventFd` until `drainEventFd`, for all threads of the process. */
function makeEventFd() {
	const { eventfd, koffi } = requireLibc("eventfd");
	const fd = eventfd(0, EFD_NONBLOCK_CLOEXEC);
	if (fd >= 0) return fd;
	const errno = koffi.errno();
	throw nativeError("eventfd", errnoName(errno), errno, "no event descriptor could be made");
}
function signalEventFd(fd) {
	const { write, koffi } = requireLibc("write");
	scratch$6.u32[4] = 1;
	scratch$6.u32[5] = 0;
	if (write(fd, valueAddress, 8) === 8 || koffi.errno() === errnos.EAGAIN) return;
	throw nativeError("write", errnoName(koffi.errno()), koffi.errno(), `event descriptor ${fd} could not be signalled`);
}
/** Makes it unreadable again; returns true if it had been signalled. */
function drainEventFd(fd) {
	const { read, koffi } = requireLibc("read");
	if (read(fd, valueAddress, 8) === 8) return true;
	const errno = koffi.errno();
	if (errno === errnos.EAGAIN) return false;
	throw nativeError("read", errnoName(errno), errno, `event descriptor ${fd} could not be read`);
}
const O_NONBLOCK_CLOEXEC = 526336;
const O_RDWR = 2;
/** A pipe: the descriptors for reading and for writing. */
function makePipe() {
	const { pipe2, koffi } = requireLibc("pipe2");
	if (pipe2(valueAddress, O_NONBLOCK_CLOEXEC) === 0) return [scratch$6.u32[4], scratch$6.u32[5]];
	const errno = koffi.errno();
	throw nativeError("pipe2", errnoName(errno), errno, "no pipe could be made");
}
/**
* A pipe with one description for both directions, so that reading never finds an end: its only descriptor. A thread that takes it
* owns it alone, which `fs.openSync` would not allow: Node closes what that opened when the thread ends, too.
*/
function makeLoopPipe() {
	const [read, write] = makePipe();
	try {
		return openAgain(read, O_RDWR);
	} finally {
		closeFd(read);
		closeFd(write);
	}
}
function openAgain(pipe, access) {
	const { open, koffi } = requireLibc("open");
	const fd = open(`/proc/self/fd/${pipe}`, access | O_NONBLOCK_CLOEXEC);
	if (fd >= 0) return fd;
	const errno = koffi.errno();
	throw nativeError("open", errnoName(errno), errno, `pipe ${pipe} could not be opened again`);
}
const O_CLOEXEC = 524288;
/** Makes `fd` another name of what `of` is; what it was is closed. */
function becomeDescriptor(fd, of) {
	const { dup3, koffi } = requireLibc("dup3");
	if (dup3(of, fd, O_CLOEXEC) === fd) return;
	const errno = koffi.errno();
	throw nativeError("dup3", errnoName(errno), errno, `descriptor ${fd} could not become ${of}`);
}
/** Reads what is in a pipe, so that it is unreadable until somebody writes again. */
function drainPipe(fd) {
	const { read, koffi } = requireLibc("read");
	for (;;) {
		const n = read(fd, drainedAddress, drainedBytes);
		if (n === drainedBytes) continue;
		if (n >= 0 || koffi.errno() === errnos.EAGAIN || koffi.errno() === errnos.EINTR) return;
		throw nativeError("read", errnoName(koffi.errno()), koffi.errno(), `pipe ${fd} could not be read`);
	}
}
/** Writes one byte. A pipe that is full, or that nobody reads any more, is left as it is. */
function writeByte(fd) {
	requireLibc("write").write(fd, valueAddress, 1);
}
/** Closes a descriptor that this folder made. */
function closeFd(fd) {
	const { close, koffi } = requireLibc("close");
	if (close(fd) === 0 || koffi.errno() === errnos.EINTR) return;
	throw nativeError("close", errnoName(koffi.errno()), koffi.errno(), `descriptor ${fd} could not be closed`);
}
// src/memory/native/descriptors.ts
const AF_UNIX = 1;
const SOCK_STREAM_CLOEXEC = 524289;
const SOL_SOCKET$1 = 1;
const SO_PEERCRED = 17;
const SO_RCVTIMEO = 20;
const SO_SNDTIMEO = 21;
const SCM_RIGHTS = 1;
const MSG_CTRUNC = 8;
const MSG_CMSG_CLOEXEC = 1073741824;
/** sun_path without the zero in front. */
const maxNameBytes = 107;
const headerAt = 0;
const vectorAt = 56;
/** struct timeval, struct ucred, and the length of that. */
const optionAt = 72;
const lengthAt = 88;
const nameAt = 96;
const payloadAt = 208;
const payloadBytes = 1016;
/** struct cmsghdr: length u64, level i32, type i32; then the descriptors. */
const controlAt = 1224;
const controlHeaderBytes = 16;
const controlBytes$1 = 1032;
const scratchBytes$1 = 2256;
let scratch$5;
/** Server and client of a thread share it: neither is interrupted while it uses it. */
function ownScratch() {
	scratch$5 ??= nativeScratch(scratchBytes$1);
	return scratch$5;
}
function openStream(name) {
	const { socket, koffi } = requireLibc("socket");
	const length = Buffer.byteLength(name);
	if (length < 1 || length > maxNameBytes) throw new NativeError("EINVAL", errnos.EINVAL, "socket", `a name has 1 to ${maxNameBytes} bytes, not ${length}`);
	const fd = socket(AF_UNIX, SOCK_STREAM_CLOEXEC, 0);
	if (fd >= 0) return fd;
	throw nativeError("socket", errnoName(koffi.errno()), koffi.errno(), "no UNIX socket could be opened");
}
/** struct sockaddr_un: family u16, and a path that begins with a zero. Returns its length. */
function writeName(name) {
	const { u8 } = ownScratch();
	u8[nameAt] = AF_UNIX;
	u8[97] = 0;
	u8[98] = 0;
	u8.set(Buffer.from(name), 99);
	return 3 + Buffer.byteLength(name);
}
const nobodyElse = () => false;
/** Whether the other end is this user's, or root's, or trusted. */
function isOurs$1(fd, trusts) {
	const { getsockopt } = requireLibc("getsockopt");
	const { u32, address } = ownScratch();
	u32[lengthAt / 4] = 12;
	if (getsockopt(fd, SOL_SOCKET$1, SO_PEERCRED, address + optionAt, address + lengthAt) !== 0) return false;
	const uid = u32[19];
	return uid === 0 || uid === process.geteuid() || trusts(u32[optionAt / 4]);
}
function pointer(u32, at, address) {
	u32[at / 4] = address;
	u32[at / 4 + 1] = Math.floor(address / 2 ** 32);
}
/** Fills in a header for so many bytes of payload and control messages. */
function prepare$1({ u32, address }, payload, control) {
	u32.fill(0, 0, optionAt / 4);
	pointer(u32, 16, address + vectorAt);
	u32[6] = 1;
	pointer(u32, 32, address + controlAt);
	u32[10] = control;
	pointer(u32, vectorAt, address + payloadAt);
	u32[16] = payload;
}
/**
* Blocks this thread until the server at this name has answered: duplicates of its descriptors, which are closed on exec and from now
* on the caller's. A thread that may be ended by another gives `own`, which notes whose they are; it runs before anybody can end this
* thread. Not for the thread that serves: it would wait for itself.
*
* Throws NativeError: ECONNREFUSED (nobody listens), ETIMEDOUT, EPERM (another user listens), EACCES (the server closed without an
* answer: this is not its user, or it could send none), EPROTO (the answer was no such answer), EMFILE (this process has no room for
* all; it has got none), EOPNOTSUPP (no koffi here).
*/
function fetchDescriptors(name, timeoutMs, own, trusts = nobodyElse) {
	return gated(() => {
		const libc = requireLibc("connect");
		ownScratch();
		const fd = openStream(name);
		try {
			const deadline = performance.now() + timeoutMs;
			connect(libc, fd, name, deadline);
			if (!isOurs$1(fd, trusts)) throw new NativeError("EPERM", errnos.EPERM, "connect", `another user listens at @${name}: nothing is taken`);
			const all = receive(libc, fd, name, deadline);
			own?.(all);
			return all;
		} finally {
			closeFd(fd);
		}
	});
}
/** What is left of the time becomes the timeout of the call that is made next. */
function setTimeoutOf({ setsockopt }, fd, option, name, deadline) {
	const { u32, address } = ownScratch();
	const leftMs = deadline - performance.now();
	if (!(leftMs > 0)) throw timedOut(name);
	const us = Math.min(Math.ceil(leftMs * 1e3), 2 ** 31);
	u32[optionAt / 4] = Math.floor(us / 1e6);
	u32[19] = 0;
	u32[20] = us % 1e6;
	u32[21] = 0;
	setsockopt(fd, SOL_SOCKET$1, option, address + optionAt, 16);
}
function timedOut(name) {
	const text = `the process that listens at @${name} does not answer: it is busy, or stopped`;
	return new NativeError("ETIMEDOUT", errnos.ETIMEDOUT, "recvmsg", text);
}
/** Connects; a full backlog makes it wait. */
function connect(libc, fd, name, deadline) {
	const { connect, koffi } = libc;
	for (;;) {
		setTimeoutOf(libc, fd, SO_SNDTIMEO, name, deadline);
		if (connect(fd, ownScratch().address + nameAt, writeName(name)) === 0) return;
		const errno = koffi.errno();
		if (errno === errnos.EINTR || errno === errnos.EAGAIN) continue;
		const what = errno === errnos.ECONNREFUSED ? `nobody listens at @${name}` : `@${name} cannot be connected to`;
		throw nativeError("connect", errnoName(errno), errno, what);
	}
}
function receive(libc, fd, name, deadline) {
	const { recvmsg, koffi } = libc;
	const own = ownScratch();
	const { u32, address } = own;
	let n;
	do {
		setTimeoutOf(libc, fd, SO_RCVTIMEO, name, deadline);
		prepare$1(own, payloadBytes, controlBytes$1);
		n = recvmsg(fd, address + headerAt, MSG_CMSG_CLOEXEC);
	} while (n < 0 && (koffi.errno() === errnos.EINTR || koffi.errno() === errnos.EAGAIN));
	if (n < 0) {
		const errno = koffi.errno();
		throw nativeError("recvmsg", errnoName(errno), errno, `@${name} does not answer`);
	}
	const fds = receivedDescriptors(u32);
	const isWhole = (u32[12] & MSG_CTRUNC) === 0;
	const count = u32[payloadAt / 4];
	if (isWhole && n === 4 + 4 * count && fds.length === count) return fds.map((fd, i) => ({
		fd,
		tag: u32[53 + i] | 0
	}));
	for (const fd of fds) closeFd(fd);
	if (n === 0) {
		const text = `the process that listens at @${name} gives nothing: it belongs to another user, or is ending`;
		throw new NativeError("EACCES", errnos.EACCES, "recvmsg", text);
	}
	if (!isWhole) throw nativeError("recvmsg", "EMFILE", errnos.EMFILE, `what @${name} gives cannot be taken`);
	throw new NativeError("EPROTO", errnos.EPROTO, "recvmsg", `what listens at @${name} is no server of descriptors`);
}
/** All descriptors in the control messages of what was received, whoever sent it. */
function receivedDescriptors(u32) {
	const fds = [];
	const end = controlAt + u32[10];
	for (let at = controlAt; at + controlHeaderBytes <= end;) {
		const bytes = u32[at / 4];
		if (bytes < controlHeaderBytes || at + bytes > end) break;
		if (u32[at / 4 + 2] === SOL_SOCKET$1 && u32[at / 4 + 3] === SCM_RIGHTS) for (let fd = at + controlHeaderBytes; fd + 4 <= at + bytes; fd += 4) fds.push(u32[fd / 4]);
		at += bytes + 7 & -8;
	}
	return fds;
}
// src/memory/native/mapping.ts
/**
* Memory from mmap(2) as ArrayBuffers: shared between processes under a name, or private and backed by huge pages.
*
* A named segment appears complete: it is made under a temporary name, given its size, and linked to its own name,
* so that a process which opens it never sees an empty file, and exactly one of several creators wins.
*
* V8 cannot detach an ArrayBuffer whose memory is not its own. So `unmap` gives the memory back at once, but keeps the
* address range, empty, until the ArrayBuffer and all views on it are collected: a forgotten view then reads zeros
* instead of ending the process with SIGSEGV, or reading what came to lie there next.
*/
const folder$1 = "/dev/shm";
const pageBytes$1 = 4096;
const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;
const MADV_DONTNEED = 4;
const FALLOC_FL_KEEP_SIZE_PUNCH_HOLE = 3;
const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_NB = 4;
const LOCK_UN = 8;
const mappings = /* @__PURE__ */ new WeakMap();
const live = /* @__PURE__ */ new Set();
/** Frees the address range of an unmapped buffer once nobody can reach it. */
const ranges = new FinalizationRegistry(({ address, lengthBytes }) => {
	requireLibc("munmap").munmap(address, lengthBytes);
});
let lastBuffer = null;
let lastBase = 0;
/** Address of the first byte of a mapped buffer; throws `EINVAL` for any other buffer. */
function baseOf(buffer) {
	if (buffer === lastBuffer) return lastBase;
	const mapping = mappings.get(buffer);
	if (mapping === void 0) throw new NativeError("EINVAL", errnos.EINVAL, "mmap", "the buffer is not a mapping of this thread, or was unmapped");
	lastBuffer = buffer;
	lastBase = mapping.address;
	return lastBase;
}
/**
* Maps the POSIX shared memory `name` (a plain file name, checked by the caller) for reading and writing.
* `sizeBytes` counts only for a new segment; an existing one is mapped in its own size. Pages cost memory when they
* are first touched. An existing one must belong to the effective user and be closed to all others: `EACCES` otherwise.
* Throws `NativeError`: `ENOENT`, `EEXIST`, `EACCES`, `ENOSPC`, `ENOMEM`, `EOPNOTSUPP` and so on.
*/
function mapShared(name, sizeBytes, mode) {
	requireLibc("mmap");
	for (let attempt = 0;; attempt++) {
		if (mode !== "create") {
			const opened = openExisting(name);
			if (opened !== null) return mapFile(name, opened, false);
			if (mode === "open") throw noSuch(name);
		}
		const created = createNew(name, sizeBytes);
		if (created !== null) return mapFile(name, created, true);
		if (mode === "create" || attempt === 100) throw nativeError("shm_open", "EEXIST", errnos.EEXIST, `shared memory '${name}' could not be created`);
	}
}
/**
* Maps only the beginning of existing shared memory: `headBytes` of its size, which is given. Looking into one is cheap then, however
* large it is: V8 counts what is mapped as memory of its heap, and a GiB more makes it collect garbage several times at once.
* Throws as `mapShared` does.
*/
function mapHead(name, headBytes) {
	requireLibc("mmap");
	const opened = openExisting(name);
	if (opened === null) throw noSuch(name);
	return mapFile(name, opened, false, headBytes);
}
function noSuch(name) {
	return nativeError("shm_open", "ENOENT", errnos.ENOENT, `shared memory '${name}' could not be opened`);
}
/** The file that a name stands for, −1 if there is none. */
function inodeOf(name) {
	return fs.statSync(`${folder$1}/${name}`, { throwIfNoEntry: false })?.ino ?? -1;
}
/**
* Takes the name away, if it stands for this file; processes that have the segment mapped keep it. Returns false if there was none.
*/
function unlinkShared(name, inode) {
	try {
		if (inode !== void 0 && inodeOf(name) !== inode) return false;
		fs.unlinkSync(`${folder$1}/${name}`);
		return true;
	} catch (error) {
		if (codeOf$1(error) === "ENOENT") return false;
		throw fromNode(error, "shm_unlink", `shared memory '${name}' could not be deleted`);
	}
}
/** Gives the memory of `mapShared` or `mapPrivate` back. The buffer reads as zeros from then on; a second call does nothing. */
function unmap(buffer) {
	const mapping = mappings.get(buffer);
	if (mapping === void 0) return;
	const { address, lengthBytes, fd } = mapping;
	mappings.delete(buffer);
	live.delete(mapping);
	if (fd >= 0) fs.closeSync(fd);
	if (buffer === lastBuffer) lastBuffer = null;
	mmap("munmap", address, lengthBytes, 16434, -1, "the mapping could not be released");
	ranges.register(buffer, mapping);
}
/**
* Makes the system give memory for a range of shared memory now: a store into a page for which there is none when it is
* first touched ends the process with SIGBUS. What is there stays. Throws `NativeError` (`ENOSPC`, `ENOMEM`).
*/
function commitShared(buffer, byteOffset, lengthBytes) {
	const errno = fallocate(buffer, 0, byteOffset, lengthBytes);
	if (errno === 0 || errno === errnos.EOPNOTSUPP || errno === errnos.ENOSYS) return;
	throw nativeError("fallocate", errnoName(errno), errno, `${folder$1} has no ${lengthBytes} bytes left${spaceLeft()}`);
}
/** Gives the memory of a range of shared memory back, whole pages, which then read as zeros; false if that cannot be. */
function releaseShared$1(buffer, byteOffset, lengthBytes) {
	return fallocate(buffer, FALLOC_FL_KEEP_SIZE_PUNCH_HOLE, byteOffset, lengthBytes) === 0;
}
/** Returns 0 or an errno. */
function fallocate(buffer, mode, byteOffset, lengthBytes) {
	const { fallocate: call, koffi } = requireLibc("fallocate");
	baseOf(buffer);
	const { fd } = mappings.get(buffer);
	for (;;) {
		if (call(fd, mode, byteOffset, lengthBytes) === 0) return 0;
		const errno = koffi.errno();
		if (errno !== errnos.EINTR) return errno;
	}
}
function spaceLeft() {
	try {
		const { blocks, bavail, bsize } = fs.statfsSync(folder$1);
		const mib = (count) => (count * bsize / 2 ** 20).toFixed(0);
		return blocks > 0 ? ` (${mib(bavail)} of ${mib(blocks)} MiB are free)` : "";
	} catch {
		return "";
	}
}
/**
* Says that this thread uses the shared memory until it ends or unmaps it, however it ends, and to processes of other
* containers, too. False while somebody finds out with `isUnused`.
*/
function markUsed(buffer) {
	return lockFile(buffer, LOCK_SH);
}
/** Whether no thread has said that it uses the shared memory; this one has not. */
function isUnused(buffer) {
	return lockFile(buffer, LOCK_EX) && lockFile(buffer, LOCK_UN);
}
function lockFile(buffer, how) {
	const { flock } = requireLibc("flock");
	baseOf(buffer);
	return flock(mappings.get(buffer).fd, how | LOCK_NB) === 0;
}
/**
* Gives the memory of whole pages of a shared WebAssembly memory back, which then read as zeros; false if that cannot be.
* `address` is that of its first byte.
*/
function releaseWasm(address, u8, byteOffset, lengthBytes) {
	u8[byteOffset] = 1;
	const gone = requireLibc("madvise").madvise(address + byteOffset, lengthBytes, MADV_DONTNEED) === 0;
	const zero = u8[byteOffset] === 0;
	u8[byteOffset] = 0;
	return gone && zero;
}
/** Address of the first byte of any buffer that never moves. */
function addressOf$1(buffer) {
	return Number(requireLibc("address").koffi.address(new Uint8Array(buffer)));
}
/** A descriptor of the existing segment, or null. */
function openExisting(name) {
	try {
		return fs.openSync(`${folder$1}/${name}`, fs.constants.O_RDWR | fs.constants.O_NOFOLLOW);
	} catch (error) {
		if (codeOf$1(error) === "ENOENT") return null;
		throw fromNode(error, "shm_open", `shared memory '${name}' could not be opened`);
	}
}
/** A descriptor of a new segment with its size, or null if the name is taken. Node opens every file with O_CLOEXEC. */
function createNew(name, sizeBytes) {
	const what = `shared memory '${name}' of ${sizeBytes} bytes could not be created`;
	checkSize(sizeBytes);
	checkLength(sizeBytes);
	const [file, group] = [basename(name), groupOf(name)];
	const inside = group === null ? folder$1 : `${folder$1}/${group}`;
	const temporary = `${inside}/.${file.slice(0, 200)}.${randomBytes(6).toString("hex")}`;
	let fd = -1;
	try {
		fd = fs.openSync(temporary, fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_NOFOLLOW, 384);
		if (group !== null) fs.fchmodSync(fd, 432);
		fs.ftruncateSync(fd, sizeBytes);
		fs.linkSync(temporary, `${folder$1}/${name}`);
		return fd;
	} catch (error) {
		if (fd >= 0) fs.closeSync(fd);
		if (codeOf$1(error) === "EEXIST") return null;
		if (codeOf$1(error) === "ENOENT") throw new NativeError("ENOENT", errnos.ENOENT, "shm_open", `${what}, because there is no ${inside}: ${group === null ? "mount a tmpfs there, or use shm0 within one process" : `mkdir -m 2770 ${inside}, and chgrp it`}`);
		if (codeOf$1(error) === "EACCES") throw new NativeError("EACCES", errnos.EACCES, "shm_open", `${what}: this account may not make files in ${inside} (it has mode ${group === null ? 1777 : 2770} usually)`);
		throw fromNode(error, "shm_open", what);
	} finally {
		if (fd >= 0) fs.unlinkSync(temporary);
	}
}
function checkSize(sizeBytes) {
	if (!Number.isSafeInteger(sizeBytes) || sizeBytes <= 0) throw new NativeError("EINVAL", errnos.EINVAL, "mmap", `the size must be a positive whole number of bytes, not ${sizeBytes}`);
}
/** Beyond this (4 GiB on Node 20) koffi ends the process instead of throwing. */
function checkLength(sizeBytes) {
	if (sizeBytes > constants$1.MAX_LENGTH) throw new NativeError("EINVAL", errnos.EINVAL, "mmap", `this Node maps at most ${constants$1.MAX_LENGTH} bytes at a time, not ${sizeBytes}: ask for less, or use Node 22 or later`);
}
function mapFile(name, fd, created, headBytes = (sizeBytes) => sizeBytes) {
	try {
		const stat = fs.fstatSync(fd);
		if (!created) checkTrusted(name, stat);
		const lengthBytes = Math.min(headBytes(stat.size), stat.size);
		checkLength(lengthBytes);
		return {
			buffer: adopt(mmap("mmap", 0, lengthBytes, MAP_SHARED, fd, `shared memory '${name}' of ${lengthBytes} bytes could not be mapped`), roundUp$1(lengthBytes, pageBytes$1), lengthBytes, fd),
			created,
			sizeBytes: stat.size,
			inode: stat.ino
		};
	} catch (error) {
		if (created) unlinkShared(name);
		fs.closeSync(fd);
		throw error;
	}
}
/**
* Refuses a file that another user could have prepared, could read or write, or could cut off under its users, which ends
* them with SIGBUS. Anyone may make files in this folder, so the name says nothing. The file is checked after it was opened:
* what is true of the description stays true, because only its owner can change owner, mode and length of such a file.
*/
function checkTrusted(name, stat) {
	const path = `${folder$1}/${name}`;
	if (!stat.isFile() || stat.size === 0) throw new NativeError("EINVAL", errnos.EINVAL, "mmap", `${path} is not a segment (no regular file, or an empty one): delete it`);
	if (groupOf(name) !== null) {
		checkGroup(path, stat);
		return;
	}
	const user = process.geteuid?.() ?? stat.uid;
	const mode = (stat.mode & 511).toString(8);
	if (stat.uid !== user) throw new NativeError("EACCES", errnos.EACCES, "shm_open", `${path} belongs to user ${stat.uid} (mode ${mode}) and this program runs as user ${user}, which does not trust it: run all programs as one user, use another name, or delete the file`);
	if ((stat.mode & 54) !== 0) throw new NativeError("EACCES", errnos.EACCES, "shm_open", `${path} of user ${stat.uid} has mode ${mode}, so other users can read or write it: chmod 600 ${path}, or delete it`);
}
/** The folder of a group of users below the usual one, of a name `GROUP/NAME`; else null. */
function groupOf(name) {
	return name.includes("/") ? dirname(name) : null;
}
/**
* A segment of a group of users is what its members make in the folder that the administrator has made for them. They trust each
* other: a member can read and write it, and cut it off.
*/
function checkGroup(path, stat) {
	const inside = dirname(path);
	const of = fs.lstatSync(inside);
	const user = process.geteuid?.() ?? of.uid;
	const refuse = (what) => {
		throw new NativeError("EACCES", errnos.EACCES, "shm_open", what);
	};
	if (!of.isDirectory() || of.uid !== 0 && of.uid !== user || (of.mode & 7) !== 0) refuse(`${inside} is not to be trusted: it has to be a folder of root (or yours) that is closed to others, mode 2770`);
	if (stat.gid !== of.gid || (stat.mode & 6) !== 0) refuse(`${path} is not of the group of ${inside}, or is open to others: delete it, and chmod g+s ${inside}`);
}
/** The address, or the negated errno. */
function tryMmap(address, lengthBytes, flags, fd) {
	const { mmap: call, koffi } = requireLibc("mmap");
	const result = Number(call(address, lengthBytes, PROT_READ_WRITE, flags, fd, 0));
	return result === -1 ? -koffi.errno() : result;
}
function mmap(syscall, address, lengthBytes, flags, fd, what) {
	const result = tryMmap(address, lengthBytes, flags, fd);
	if (result < 0) throw nativeError(syscall, errnoName(-result), -result, what);
	return result;
}
function adopt(address, lengthBytes, sizeBytes, fd = -1) {
	const { koffi, munmap } = requireLibc("mmap");
	try {
		const buffer = gated(() => koffi.view(BigInt(address), sizeBytes));
		const mapping = {
			address,
			lengthBytes,
			fd
		};
		mappings.set(buffer, mapping);
		live.add(mapping);
		return buffer;
	} catch (error) {
		munmap(address, lengthBytes);
		throw nativeError("mmap", "ENOMEM", errnos.ENOMEM, `no ArrayBuffer of ${sizeBytes} bytes: ${error.message}`);
	}
}
function roundUp$1(value, unit) {
	return Math.ceil(value / unit) * unit;
}
function codeOf$1(error) {
	return error.code ?? "";
}
function fromNode(error, syscall, what) {
	const { code, errno } = error;
	return nativeError(syscall, code ?? "EIO", Math.abs(errno ?? 5), what);
}
// src/memory/native/futex.ts
/**
* Waiting on a 32-bit word of mapped memory across processes: futex(2), not private. `Atomics.wait` does the same
* for SharedArrayBuffers only, and only within one process.
*
* A wait may end early ('ok' without a wake, after a signal): look at the word again, as with every futex.
* Measured: a wake that nobody waits for 0.37 µs, of which koffi is 0.03; so look at a count of waiters first.
*/
const FUTEX_WAIT = 0;
const FUTEX_WAKE = 1;
/** With this operation the time-out is a point on CLOCK_MONOTONIC instead of a duration. */
const FUTEX_WAIT_BITSET = 9;
const anyBit = 4294967295;
function addressOf(buffer, byteOffset) {
	const base = baseOf(buffer);
	if ((byteOffset & 3) !== 0 || byteOffset < 0 || byteOffset + 4 > buffer.byteLength) throw new NativeError("EINVAL", errnos.EINVAL, "futex", `offset ${byteOffset} is not a 32-bit word of the mapping`);
	return base + byteOffset;
}
/** struct timespec: 64-bit seconds, 64-bit nanoseconds. */
function writeTimespec(u32, word, ns) {
	const seconds = Math.floor(ns / 1e9);
	u32[word] = seconds;
	u32[word + 1] = Math.floor(seconds / 4294967296);
	u32[word + 2] = Math.floor(ns - seconds * 1e9);
	u32[word + 3] = 0;
}
const timeout = libc === null ? null : nativeScratch(16);
/**
* Blocks this thread while the word is `expected`, at most `timeoutNs` (Infinity: without end). 'not-equal' if the
* word had another value to begin with.
*/
function futexWait(buffer, byteOffset, expected, timeoutNs) {
	const { syscall, futexNumber, koffi } = requireLibc("futex");
	const address = addressOf(buffer, byteOffset);
	let timespec = 0;
	if (timeoutNs !== Number.POSITIVE_INFINITY) {
		writeTimespec(timeout.u32, 0, Math.max(timeoutNs, 0));
		timespec = timeout.address;
	}
	if (syscall(futexNumber, address, FUTEX_WAIT, expected | 0, timespec, 0, 0) === 0) return "ok";
	const errno = koffi.errno();
	if (errno === errnos.EAGAIN) return "not-equal";
	if (errno === errnos.ETIMEDOUT) return "timed-out";
	if (errno === errnos.EINTR) return "ok";
	throw nativeError("futex", errnoName(errno), errno, "the wait failed");
}
/**
* A pool thread that waits cannot be interrupted, and `process.exit` and the end of a worker join it: so a wait is
* repeated in intervals this long.
*/
const pieceNs = 1e8;
/** Timespecs of the waits in progress: each stays in place until its call ends. */
const timespecWords = 4;
const slots$2 = libc === null ? null : nativeScratch(4096);
const freeSlots = Array.from({ length: 256 }, (_, i) => i);
/**
* The same without blocking this thread. The call occupies one thread of libuv's pool, of which there are four
* (UV_THREADPOOL_SIZE) for all of files, name look-ups and these waits: with more than that at a time, the rest queue,
* though not beyond their time-out. The promise keeps the process alive while it is pending.
*/
async function futexWaitAsync(buffer, byteOffset, expected, timeoutNs) {
	requireLibc("futex");
	addressOf(buffer, byteOffset);
	const word = new Int32Array(buffer, byteOffset, 1);
	if (Atomics.load(word, 0) !== (expected | 0)) return "not-equal";
	const deadlineNs = monotonicNs() + Math.max(timeoutNs, 0);
	for (;;) {
		const pieceEndNs = Math.min(deadlineNs, monotonicNs() + pieceNs);
		if (await waitUntil(addressOf(buffer, byteOffset), expected, pieceEndNs)) return "ok";
		if (monotonicNs() >= deadlineNs) return "timed-out";
		if (Atomics.load(word, 0) !== (expected | 0)) return "ok";
	}
}
/** True if woken. */
function waitUntil(address, expected, deadlineNs) {
	const { syscall, futexNumber } = requireLibc("futex");
	const slot = freeSlots.pop();
	if (slot === void 0) throw new NativeError("EAGAIN", errnos.EAGAIN, "futex", "more than 256 waits at a time: let some of them end");
	writeTimespec(slots$2.u32, slot * timespecWords, deadlineNs);
	return new Promise((resolve, reject) => {
		const done = (error, result) => {
			freeSlots.push(slot);
			if (error) reject(error);
			else resolve(result === 0);
		};
		try {
			syscall.async(futexNumber, address, FUTEX_WAIT_BITSET, expected | 0, slots$2.address + slot * 16, 0, anyBit, done);
		} catch (error) {
			freeSlots.push(slot);
			reject(error);
		}
	});
}
function monotonicNs() {
	const [seconds, ns] = process.hrtime();
	return seconds * 1e9 + ns;
}
/** Wakes at most `count` waiters on the word, of all processes; returns how many. */
function futexWake(buffer, byteOffset, count) {
	const { syscall, futexNumber, koffi } = requireLibc("futex");
	const woken = syscall(futexNumber, addressOf(buffer, byteOffset), FUTEX_WAKE, count | 0, 0, 0, 0);
	if (woken >= 0) return Number(woken);
	throw nativeError("futex", errnoName(koffi.errno()), koffi.errno(), "the wake failed");
}
availableParallelism();
const scratch$4 = libc === null ? null : nativeScratch(1040);
scratch$4 === null || scratch$4.u32;
scratch$4 === null || scratch$4.address;
libc?.clockGettime;
const MEMBARRIER_GLOBAL_EXPEDITED = 2;
const MEMBARRIER_REGISTER_GLOBAL_EXPEDITED = 4;
const MEMBARRIER_PRIVATE_EXPEDITED = 8;
const MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 16;
/** Asks the kernel to let `membarrier` with this scope reach the threads of this process; false where it cannot. */
function registerMembarrier(scope) {
	return libc !== null && membarrierCall(libc, scope === "process" ? MEMBARRIER_REGISTER_PRIVATE_EXPEDITED : MEMBARRIER_REGISTER_GLOBAL_EXPEDITED);
}
/** Makes every thread in `scope` pass a full memory barrier, as membarrier(2) does; false if it did not. */
function membarrier(scope) {
	return libc !== null && membarrierCall(libc, scope === "process" ? MEMBARRIER_PRIVATE_EXPEDITED : MEMBARRIER_GLOBAL_EXPEDITED);
}
function membarrierCall(libc, command) {
	return libc.syscall(libc.membarrierNumber, command, 0, 0, 0, 0, 0) === 0;
}
const sockaddrSlotBytes = 32;
/** Destinations that one socket can have: 2 MiB of them. */
const maxDestinations = 65536;
const slotsPerChunk = 64;
/** Words of a key: address, port, scope. Signed, so that none is ever too large for a small integer of V8. */
const keyWords = 6;
/** ::ffff in the third word of a GID, as the machine (little-endian) reads it. */
const mappedWord = -65536;
function sockaddrBytes(family) {
	return family === 4 ? 16 : 28;
}
/** True for the 12 bytes of ::ffff:0:0/96 in front of an IPv4 address. */
function isMappedIpv4(address) {
	for (let i = 0; i < 10; i++) if (address[i] !== 0) return false;
	return address[10] === 255 && address[11] === 255;
}
/** 4 for an IPv4 address in either form, 6 for another of 16 bytes; throws EINVAL for any other length. */
function familyOf(address) {
	if (address.length === 4) return 4;
	if (address.length === 16) return isMappedIpv4(address) ? 4 : 6;
	throw new NativeError("EINVAL", errnos.EINVAL, "socket", `an address has 4 or 16 bytes, not ${address.length}`);
}
/** `127.0.0.1` or `fe80:0:0:0:0:0:0:1%2`, for messages. */
function addressText(address, scopeId = 0) {
	if (familyOf(address) === 4) return address.subarray(-4).join(".");
	const groups = [];
	for (let i = 0; i < 16; i += 2) groups.push((address[i] << 8 | address[i + 1]).toString(16));
	const text = groups.join(":").replace(/(^|:)0(:0)+(:|$)/, "::");
	return scopeId === 0 ? text : `${text}%${scopeId}`;
}
/** Writes the address at byte `at` of native memory. */
function writeSockaddr(u8, at, address, port, scopeId) {
	const family = familyOf(address);
	u8.fill(0, at, at + sockaddrSlotBytes);
	u8[at] = family === 4 ? 2 : 10;
	u8[at + 2] = port >>> 8;
	u8[at + 3] = port;
	if (family === 4) for (let i = 0; i < 4; i++) u8[at + 4 + i] = address[address.length - 4 + i];
	else {
		u8.set(address, at + 8);
		for (let i = 0; i < 4; i++) u8[at + 24 + i] = scopeId >>> 8 * i;
	}
}
/** Where a socket sends to: addresses by index, and the index of an address without allocation. */
var Destinations = class {
	/** Addresses of the slots in native memory, as low and high word. */
	low = /* @__PURE__ */ new Uint32Array(16);
	high = /* @__PURE__ */ new Uint32Array(16);
	count = 0;
	#family;
	#keys = /* @__PURE__ */ new Int32Array(96);
	/** Open addressing; index + 1, 0 for a free entry; its length is a power of two and at least twice the count. */
	#table = /* @__PURE__ */ new Int32Array(64);
	#key = new Int32Array(keyWords);
	#keyBytes = new Uint8Array(this.#key.buffer);
	constructor(family) {
		this.#family = family;
	}
	/** The index of this destination. Throws EINVAL for an address of the other family, ENOBUFS when there are too many. */
	index(address, port, scopeId) {
		const key = this.#key;
		if (address.length === 16) this.#keyBytes.set(address);
		else if (address.length === 4) {
			key[0] = 0;
			key[1] = 0;
			key[2] = mappedWord;
			for (let i = 0; i < 4; i++) this.#keyBytes[12 + i] = address[i];
		} else familyOf(address);
		key[4] = port;
		key[5] = scopeId;
		const mask = this.#table.length - 1;
		let entry = hash(key) & mask;
		for (; this.#table[entry] !== 0; entry = entry + 1 & mask) {
			const index = this.#table[entry] - 1;
			if (this.#equals(index)) return index;
		}
		return this.#add(entry, address, port, scopeId);
	}
	#equals(index) {
		const key = this.#key;
		const keys = this.#keys;
		for (let i = 0; i < keyWords; i++) if (keys[index * keyWords + i] !== key[i]) return false;
		return true;
	}
	#add(entry, address, port, scopeId) {
		if (familyOf(address) !== this.#family) throw new NativeError("EINVAL", errnos.EINVAL, "sendmsg", `${addressText(address)} cannot be reached from an IPv${this.#family} socket: use a device on an IPv${familyOf(address)} address`);
		if (!Number.isInteger(port) || port < 1 || port > 65535) throw new NativeError("EINVAL", errnos.EINVAL, "sendmsg", `a port is a number from 1 to 65535, not ${port}`);
		const index = this.count;
		if (index === maxDestinations) throw new NativeError("ENOBUFS", errnos.ENOBUFS, "sendmsg", `the socket has ${maxDestinations} destinations already: use another device for more`);
		if (index % slotsPerChunk === 0) this.#addChunk(index);
		this.#keys.set(this.#key, index * keyWords);
		const chunk = this.#chunks[this.#chunks.length - 1];
		writeSockaddr(chunk.u8, index % slotsPerChunk * sockaddrSlotBytes, address, port, scopeId);
		this.#table[entry] = index + 1;
		this.count = index + 1;
		if (this.count * 2 > this.#table.length) this.#rehash();
		return index;
	}
	#chunks = [];
	#addChunk(index) {
		const chunk = freeChunks.pop() ?? nativeScratch(2048);
		this.#chunks.push(chunk);
		if (index + slotsPerChunk > this.low.length) {
			const size = Math.max(slotsPerChunk, this.low.length * 2);
			const [low, high, keys] = [
				this.low,
				this.high,
				this.#keys
			];
			this.low = new Uint32Array(size);
			this.low.set(low);
			this.high = new Uint32Array(size);
			this.high.set(high);
			this.#keys = new Int32Array(size * keyWords);
			this.#keys.set(keys);
		}
		for (let i = 0; i < slotsPerChunk; i++) {
			const address = chunk.address + i * sockaddrSlotBytes;
			this.low[index + i] = address;
			this.high[index + i] = Math.floor(address / 4294967296);
		}
	}
	#rehash() {
		const table = new Int32Array(this.#table.length * 2);
		const mask = table.length - 1;
		for (let index = 0; index < this.count; index++) {
			let entry = hash(this.#keys.subarray(index * keyWords, (index + 1) * keyWords)) & mask;
			while (table[entry] !== 0) entry = entry + 1 & mask;
			table[entry] = index + 1;
		}
		this.#table = table;
	}
	/** Gives the native memory to the next socket of this thread. */
	release() {
		freeChunks.push(...this.#chunks.splice(0));
		this.count = 0;
		this.#table = /* @__PURE__ */ new Int32Array(64);
	}
};
const freeChunks = [];
function hash(key) {
	let h = 506952121;
	for (let i = 0; i < keyWords; i++) {
		h = Math.imul(h ^ key[i], 636209771);
		h ^= h >>> 15;
	}
	return h;
}
// src/memory/native/poll-requests.ts
/**
* An event descriptor that the kernel itself signals when a socket can be read: poll requests of Linux's asynchronous I/O
* (IOCB_CMD_POLL, io_submit(2)). So an event loop that watches the event descriptor wakes for sockets that it does not own, and
* no thread has to wait for them in its place. A request is good for one time.
*
* The context in which requests are pending belongs to the process, and pending requests keep a closed socket, and its port, alive:
* whoever closes one destroys the context (`destroyPollContext`), in whichever thread it was made.
*/
const IOCB_CMD_POLL = 5;
const IOCB_FLAG_RESFD = 1;
const POLLIN = 1;
/** Sockets that one thread can wait for so. */
const mostRequests = 256;
/** struct iocb: data u64, key u32, flags u32, opcode u16, priority i16, descriptor u32, events u64, 3 × u64, flags u32, eventfd u32. */
const iocbWords = 16;
/** struct io_event: data, object, two results, 64 bits each. */
const eventWords = 8;
const eventsTaken = 64;
var PollRequests = class {
	#eventFd;
	#word;
	/** The context in which `#fds` are pending. */
	#context = 0;
	/** By request: the descriptor that it waits for, −1 if it is free. */
	#fds = new Int32Array(mostRequests).fill(-1);
	#used = 0;
	/** False once the kernel has refused: not every container and sandbox takes such requests. */
	#works = true;
	/** The event descriptor may have been signalled since `arm`. */
	signaled = false;
	#scratch;
	#iocbsAt = mostRequests * 8;
	#eventsAt = this.#iocbsAt + mostRequests * iocbWords * 4;
	#zeroAt = this.#eventsAt + 2048;
	constructor(eventFd, word) {
		this.#eventFd = eventFd;
		this.#word = word;
		this.#scratch = nativeScratch(this.#zeroAt + 16);
	}
	/**
	* Asks for a signal when one of the first `count` of `fds` can be read, also if it can already; those that were asked for before
	* and have not come stay as they are. False where the kernel takes no such requests.
	*/
	arm(fds, count) {
		if (!this.#works || !this.#ensureContext()) return false;
		if (this.signaled) this.#take();
		const { u32, address } = this.#scratch;
		let submitted = 0;
		for (let i = 0; i < count; i++) {
			const fd = fds[i];
			const request = this.#free(fd);
			if (request === alreadyThere) continue;
			if (request < 0) {
				destroyPollContext(this.#word);
				return false;
			}
			this.#fds[request] = fd;
			const at = this.#iocbsAt + request * iocbWords * 4;
			const word = at >> 2;
			u32.fill(0, word, word + iocbWords);
			u32[word] = request;
			u32[word + 4] = IOCB_CMD_POLL;
			u32[word + 5] = fd;
			u32[word + 6] = POLLIN;
			u32[word + 14] = IOCB_FLAG_RESFD;
			u32[word + 15] = this.#eventFd;
			u32[2 * submitted] = address + at >>> 0;
			u32[2 * submitted + 1] = Math.floor((address + at) / 2 ** 32);
			submitted++;
		}
		const { f64, index } = this.#word;
		if (submitted === 0) return f64[index] === this.#context;
		const { syscall, io, koffi } = requireLibc("io_submit");
		const done = syscall(io.submit, this.#context, submitted, address, 0, 0, 0);
		if (done === submitted) return true;
		if (done < 0 && koffi.errno() !== errnos.EBADF && f64[index] === this.#context) this.#works = false;
		destroyPollContext(this.#word);
		return false;
	}
	/** The request for this descriptor: a free one, or `alreadyThere`; −1 if there are too many. */
	#free(fd) {
		let free = -1;
		for (let i = 0; i < this.#used; i++) {
			if (this.#fds[i] === fd) return alreadyThere;
			if (free < 0 && this.#fds[i] === -1) free = i;
		}
		if (free >= 0 || this.#used === mostRequests) return free;
		return this.#used++;
	}
	/** Takes notice of the requests that have come. */
	#take() {
		const { syscall, io } = requireLibc("io_getevents");
		this.signaled = false;
		const { u32, address } = this.#scratch;
		for (;;) {
			const n = syscall(io.getevents, this.#context, 0, eventsTaken, address + this.#eventsAt, address + this.#zeroAt, 0);
			for (let i = 0; i < n; i++) this.#fds[u32[(this.#eventsAt >> 2) + i * eventWords]] = -1;
			if (n < eventsTaken) return;
		}
	}
	/** Whether there is a context; makes one if another thread has destroyed it. */
	#ensureContext() {
		const { f64, index } = this.#word;
		const there = f64[index];
		if (there !== 0 && there === this.#context) return true;
		if (there !== 0) destroyPollContext(this.#word);
		this.#fds.fill(-1);
		this.#used = 0;
		this.#context = 0;
		const { u32, address } = this.#scratch;
		const { syscall, io } = requireLibc("io_setup");
		const at = this.#zeroAt >> 2;
		u32.fill(0, at, at + 4);
		const made = syscall(io.setup, mostRequests, address + this.#zeroAt, 0, 0, 0, 0);
		const context = u32[at] + u32[at + 1] * 2 ** 32;
		u32.fill(0, at, at + 4);
		if (made !== 0) {
			this.#works = false;
			return false;
		}
		this.#context = context;
		f64[index] = context;
		return true;
	}
};
const alreadyThere = -2;
/** Ends all pending requests of a context, and with them the use of their descriptors; the next `arm` of its thread makes another. */
function destroyPollContext({ f64, index }) {
	const context = f64[index];
	if (context === 0) return;
	f64[index] = 0;
	const { syscall, io, koffi } = requireLibc("io_destroy");
	if (syscall(io.destroy, context, 0, 0, 0, 0, 0) !== 0 && koffi.errno() !== errnos.EINVAL) throw new Error(`io_destroy failed with errno ${koffi.errno()}`);
}
((libc === null ? null : nativeScratch(40))?.address ?? 0) + 32;
// src/memory/native/tsc.ts
const now = [
	15,
	174,
	232,
	15,
	49,
	72,
	193,
	226,
	32,
	72,
	9,
	208
];
[...now];
[...now, ...now];
// src/memory/native/udp-batch.ts
/** Many datagrams to one destination in one sendmmsg(2), for where the kernel does not cut them itself. */
const maxBatch = 64;
/** struct mmsghdr: msghdr of 56 bytes, length u32, padding. */
const headerBytes = 64;
const vectorBytes = 16;
var Batch = class {
	#scratch;
	#headers;
	/** `nameBytes`: length of a destination's address; `control`: address of the control messages of every datagram. */
	constructor(nameBytes, control) {
		const scratch = freeScratch$1.pop() ?? nativeScratch(5120);
		this.#scratch = scratch;
		this.#headers = [scratch.address, null];
		const { u32, address } = scratch;
		u32.fill(0);
		for (let i = 0; i < maxBatch; i++) {
			const word = i * headerBytes / 4;
			const vector = address + 4096 + i * vectorBytes;
			u32[word + 2] = nameBytes;
			u32[word + 4] = vector;
			u32[word + 5] = Math.floor(vector / 4294967296);
			u32[word + 6] = 1;
			u32[word + 8] = control;
			u32[word + 9] = Math.floor(control / 4294967296);
		}
	}
	/** As `UdpSocket.send`; at most 64 datagrams. */
	send(libc, fd, address, length, segmentBytes, nameLow, nameHigh, controlBytes) {
		const { u32 } = this.#scratch;
		let count = 0;
		for (let sent = 0; sent < length; sent += segmentBytes, count++) {
			const word = count * headerBytes / 4;
			u32[word] = nameLow;
			u32[word + 1] = nameHigh;
			u32[word + 10] = controlBytes;
			const vector = (4096 + count * vectorBytes) / 4;
			const from = address + sent;
			u32[vector] = from;
			u32[vector + 1] = Math.floor(from / 4294967296);
			u32[vector + 2] = Math.min(segmentBytes, length - sent);
		}
		const result = libc.sendmmsg(fd, this.#headers[0], count, 0);
		return result < 0 ? -libc.koffi.errno() : Math.min(result * segmentBytes, length);
	}
	/** Gives the native memory to the next batch of this thread. */
	release() {
		freeScratch$1.push(this.#scratch);
	}
};
const freeScratch$1 = [];
// src/memory/native/udp-options.ts
/** Opening a UDP socket, its options, multicast groups, and what their failures mean. */
const SOCK_DGRAM_NONBLOCK_CLOEXEC = 526338;
const IPPROTO_UDP = 17;
const SOL_SOCKET = 1;
const SOL_IP = 0;
const SOL_IPV6 = 41;
const SOL_UDP = 17;
const socketNumbers = {
	reuseAddress: 2,
	sendBuffer: 7,
	receiveBuffer: 8,
	sendBufferForce: 32,
	receiveBufferForce: 33,
	/** SO_RXQ_OVFL: a control message with the count of drops, once there were any. */
	dropCount: 40
};
/** noChecksum6: UDP_NO_CHECK6_RX, since RoCEv2 over IPv6 may have checksum 0, which the kernel would drop. */
const udpNumbers = {
	noChecksum6: 102,
	segment: 103,
	coalesce: 104
};
const ipv4Numbers = {
	trafficClass4: 1,
	hopLimit4: 2,
	mtuDiscover4: 10,
	receiveHopLimit4: 12,
	receiveTrafficClass4: 13,
	multicastInterface4: 32,
	multicastLoop4: 34,
	join4: 35,
	leave4: 36,
	/** IP_MULTICAST_ALL: without it, a socket gets only the groups that it joined itself. */
	multicastAll4: 49
};
const ipv6Numbers = {
	multicastInterface6: 17,
	multicastLoop6: 19,
	join6: 20,
	leave6: 21,
	mtuDiscover6: 23,
	only6: 26,
	multicastAll6: 29,
	receiveHopLimit6: 51,
	hopLimit6: 52,
	receiveTrafficClass6: 66,
	trafficClass6: 67
};
function options(level, numbers) {
	const entries = Object.entries(numbers);
	return Object.fromEntries(entries.map(([key, name]) => [key, {
		level,
		name
	}]));
}
const Option = {
	...options(SOL_SOCKET, socketNumbers),
	...options(SOL_UDP, udpNumbers),
	...options(SOL_IP, ipv4Numbers),
	...options(SOL_IPV6, ipv6Numbers)
};
/** IP_PMTUDISC_DO and IPV6_PMTUDISC_DO. */
const pmtudiscDo = 2;
const scratch$2 = libc === null ? null : nativeScratch(32);
/** Sets an option to a number; returns 0 or an errno. */
function setOption(fd, { level, name }, value) {
	const { setsockopt, koffi } = requireLibc("setsockopt");
	scratch$2.u32[0] = value;
	return setsockopt(fd, level, name, scratch$2.address, 4) === 0 ? 0 : koffi.errno();
}
/** The number that an option has. */
function option(fd, { level, name }) {
	const { getsockopt, koffi } = requireLibc("getsockopt");
	scratch$2.u32[4] = 4;
	if (getsockopt(fd, level, name, scratch$2.address, scratch$2.address + 16) === 0) return scratch$2.u32[0] | 0;
	throw nativeError("getsockopt", errnoName(koffi.errno()), koffi.errno(), `the socket ${fd} does not tell`);
}
/** A socket with everything set that is the same for all; not bound. */
function openUdp(family, receiveBufferBytes, sendBufferBytes) {
	const { socket, koffi } = requireLibc("socket");
	const fd = socket(family === 4 ? 2 : 10, SOCK_DGRAM_NONBLOCK_CLOEXEC, IPPROTO_UDP);
	if (fd < 0) {
		const errno = koffi.errno();
		const what = `no IPv${family} UDP socket could be opened`;
		if (errno === errnos.EAFNOSUPPORT) throw new NativeError("EAFNOSUPPORT", errno, "socket", `${what}: IPv${family} is turned off on this machine`);
		throw nativeError("socket", errnoName(errno), errno, what);
	}
	const four = family === 4;
	if (!four) {
		setOption(fd, Option.only6, 1);
		setOption(fd, Option.noChecksum6, 1);
	}
	if (setOption(fd, Option.receiveBufferForce, receiveBufferBytes) !== 0) setOption(fd, Option.receiveBuffer, receiveBufferBytes);
	if (setOption(fd, Option.sendBufferForce, sendBufferBytes) !== 0) setOption(fd, Option.sendBuffer, sendBufferBytes);
	setOption(fd, four ? Option.mtuDiscover4 : Option.mtuDiscover6, pmtudiscDo);
	setOption(fd, four ? Option.receiveTrafficClass4 : Option.receiveTrafficClass6, 1);
	setOption(fd, four ? Option.receiveHopLimit4 : Option.receiveHopLimit6, 1);
	setOption(fd, four ? Option.multicastAll4 : Option.multicastAll6, 0);
	setOption(fd, four ? Option.multicastLoop4 : Option.multicastLoop6, 1);
	setOption(fd, Option.dropCount, 1);
	setOption(fd, Option.coalesce, 1);
	return fd;
}
/** An address that every machine has, and that is not this one. */
const otherThan = (address) => address === "127.0.0.2" ? "127.0.0.3" : "127.0.0.2";
/** What a bind that failed with `code`, such as 'EADDRINUSE', means for the user; undefined if nobody knows. */
function bindAdvice(code, address, port) {
	const where = `UDP port ${port} of ${address}`;
	return {
		EADDRINUSE: `${where} is in use: another roce device of this machine has it (or, with port 4791, the kernel's own RoCE, rdma_rxe); close that, or use another address, such as ${otherThan(address)}`,
		EADDRNOTAVAIL: `${address} is not an address of this machine: 'ip address' lists those that are`,
		EACCES: `${where} could not be bound: ports below 1024 need CAP_NET_BIND_SERVICE`,
		EPERM: `${where} could not be bound: a policy of this system or container forbids it`,
		EINVAL: `${where} could not be bound: a link-local address needs its interface, as in fe80::1%eth0`,
		ENODEV: `${where} could not be bound: there is no such interface`
	}[code ?? ""];
}
/** A bind that failed, with what it means for the user. */
function bindError(errno, address, port) {
	const code = errnoName(errno);
	return new NativeError(code, errno, "bind", bindAdvice(code, address, port) ?? `UDP port ${port} of ${address} could not be bound`);
}
/** Joins or leaves a group on an interface, or makes it the one through which multicast leaves. */
function groupOption(fd, family, what, group, interfaceIndex) {
	const { setsockopt, koffi } = requireLibc("setsockopt");
	const { u8, u32, address } = scratch$2;
	u8.fill(0);
	if (group !== null && (familyOf(group) !== family || !isMulticast(group))) throw new NativeError("EINVAL", errnos.EINVAL, "setsockopt", `${addressText(group)} is not an IPv${family} multicast group (${family === 4 ? "224.0.0.0/4" : "ff00::/8"})`);
	let result;
	if (family === 4) {
		if (group !== null) u8.set(group.subarray(-4));
		u32[2] = interfaceIndex;
		const names = {
			join: Option.join4,
			leave: Option.leave4,
			interface: Option.multicastInterface4
		};
		result = setsockopt(fd, SOL_IP, names[what].name, address, 12);
	} else if (group === null) result = setOption(fd, Option.multicastInterface6, interfaceIndex);
	else {
		u8.set(group);
		u32[4] = interfaceIndex;
		result = setsockopt(fd, SOL_IPV6, (what === "join" ? Option.join6 : Option.leave6).name, address, 20);
	}
	if (result === 0) return;
	const errno = koffi.errno();
	const name = group === null ? "multicast" : addressText(group);
	const text = {
		[errnos.ENODEV]: `there is no interface ${interfaceIndex} for ${name}: name one that carries multicast`,
		[errnos.EADDRINUSE]: `the socket is in the group ${name} already`,
		[errnos.EADDRNOTAVAIL]: `the socket is not in the group ${name}, or there is no interface ${interfaceIndex}`,
		[errnos.ENOBUFS]: `the socket is in too many groups: raise net.ipv4.igmp_max_memberships`
	};
	throw new NativeError(errnoName(errno), errno, "setsockopt", text[errno] ?? `${name}: ${what} failed`);
}
/** True for an IPv4 (either form) or IPv6 multicast address. */
function isMulticast(address) {
	if (address.length === 16 && !isMappedIpv4(address)) return address[0] === 255;
	return (address[address.length - 4] & 240) === 224;
}
// src/memory/native/udp.ts
/**
* UDP sockets for packets that lie in one big memory: what they send and receive are offsets in it, and a call
* allocates nothing. Segmentation and coalescing in the kernel (UDP_SEGMENT, UDP_GRO) carry up to 64 datagrams a call.
*
* Every socket is non-blocking and unconnected, and has IP_MTU_DISCOVER set to IP_PMTUDISC_DO. So its IPv4 packets have
* DF and identification 0, and those of one segmented call 0, 1, 2, …: a checksum over the header (the RoCEv2 ICRC) can be
* computed beforehand. IPv6 has no identification.
*
* The structures that the kernel reads are in native memory, prepared once for each object (64-bit little-endian
* Linux). An object belongs to one thread; another thread of the process adopts the descriptor.
*/
const MSG_TRUNC = 32;
/** IP_PMTUDISC_WANT and IPV6_PMTUDISC_WANT. */
const pmtudiscWant = 1;
const sendHeader = 0;
const sendVector = 64;
const receiveVector = 80;
const receiveHeader = 96;
const receiveName = 160;
const sendControl = 192;
const receiveControl = 288;
const sourceGid = 416;
const scratchBytes = 448;
const receiveControlBytes = 128;
/** Control messages: length u64, level i32, type i32, data, padded to 8 bytes. */
const controlBytes = 24;
/** Native memory of closed sockets of this thread, for the next ones. */
const freeScratch = [];
/** What a kernel or a device answers that cannot cut datagrams; EINVAL also means that they are too long for the way. */
const segmentationErrors = /* @__PURE__ */ new Set([
	errnos.EINVAL,
	errnos.EIO,
	errnos.ENOPROTOOPT,
	errnos.EOPNOTSUPP
]);
/** Of the two bytes of a port in network order, read in the order of this machine. They are small enough to need no memory. */
function portOf(bytes) {
	return (bytes & 255) << 8 | bytes >>> 8;
}
var UdpSocket = class UdpSocket {
	fd;
	family;
	memory;
	/**
	* What the last `receive` found. `segmentBytes`: size of each datagram in it but the last, which may be shorter; the
	* result itself if it is one datagram. `trafficClass`: TOS or traffic class with ECN. `truncated`: it was longer than
	* the room for it. `sourceScope`: interface of a link-local source. `kernelDrops`: datagrams that this socket's
	* full buffer cost so far (it wraps at 2^32).
	*/
	segmentBytes = 0;
	trafficClass = 0;
	hopLimit = 0;
	truncated = false;
	sourcePort = 0;
	sourceScope = 0;
	kernelDrops = 0;
	/** Source of what was received last, as a GID: a view that each `receive` refreshes. */
	source;
	/** The same 16 bytes as four words in the machine's order, to compare. */
	sourceWords;
	/** False once the kernel refused UDP_SEGMENT: each datagram is then a packet of its own, with identification 0. */
	segmentation = true;
	#libc;
	#base;
	#sizeBytes;
	#scopeId;
	#owner;
	#scratch;
	#u32;
	#destinations;
	#headers;
	#batch = null;
	/** Bytes of control messages that go with every datagram. */
	#prefixBytes = 0;
	#trafficClass = 0;
	#hopLimit = 0;
	#port = 0;
	#open = true;
	/**
	* Opens and binds. Throws `NativeError`: `EADDRINUSE`, `EADDRNOTAVAIL`, `EACCES`, `EAFNOSUPPORT`, `EMFILE`, `EINVAL`,
	* `EOPNOTSUPP` (no koffi here). `memory` must stay in place: shared memory, or an ArrayBuffer that is not transferred.
	*/
	static open(memory, options) {
		const family = familyOf(options.address);
		const fd = openUdp(family, options.receiveBufferBytes ?? 8 << 20, options.sendBufferBytes ?? 4 << 20);
		if (options.fragments) setOption(fd, family === 4 ? Option.mtuDiscover4 : Option.mtuDiscover6, pmtudiscWant);
		const socket = new UdpSocket(memory, fd, family, options.scopeId ?? 0, true);
		options.opened?.(fd);
		try {
			socket.#bind(options);
		} catch (error) {
			options.opened?.(-1);
			socket.close();
			throw error;
		}
		return socket;
	}
	/**
	* The same socket in another thread of the process; a descriptor belongs to the process. The owner closes it, after
	* the last use by others: the kernel gives its number to the next file.
	*/
	static adopt(memory, fd, family, scopeId = 0) {
		const socket = new UdpSocket(memory, fd, family, scopeId, false);
		try {
			socket.#readPort();
		} catch (error) {
			socket.close();
			throw error;
		}
		return socket;
	}
	/** Use `open` or `adopt`. */
	constructor(memory, fd, family, scopeId, owner) {
		this.#libc = requireLibc("socket");
		this.fd = fd;
		this.family = family;
		this.memory = memory;
		this.#sizeBytes = memory.byteLength;
		this.#base = Number(this.#libc.koffi.address(new Uint8Array(memory)));
		this.#scopeId = scopeId;
		this.#owner = owner;
		this.#destinations = new Destinations(family);
		const scratch = freeScratch.pop() ?? nativeScratch(scratchBytes);
		this.#scratch = scratch;
		this.#u32 = scratch.u32;
		scratch.u32.fill(0);
		this.#headers = [
			scratch.address + sendHeader,
			scratch.address + receiveHeader,
			null
		];
		const source = family === 4 ? sourceGid : 168;
		this.source = scratch.u8.subarray(source, source + 16);
		this.sourceWords = scratch.u32.subarray(source / 4, source / 4 + 4);
		if (family === 4) scratch.u32[106] = 4294901760;
		this.#prepare(sendHeader, sendVector, sendControl);
		this.#prepare(receiveHeader, receiveVector, receiveControl);
		this.#pointer(receiveHeader, scratch.address + receiveName);
	}
	#pointer(at, address) {
		this.#u32[at / 4] = address;
		this.#u32[at / 4 + 1] = Math.floor(address / 4294967296);
	}
	#prepare(header, vector, control) {
		const { address } = this.#scratch;
		this.#u32[header / 4 + 2] = sockaddrBytes(this.family);
		this.#pointer(header + 16, address + vector);
		this.#u32[header / 4 + 6] = 1;
		this.#pointer(header + 32, address + control);
	}
	#bind(options) {
		const { address, port } = options;
		if (!Number.isInteger(port) || port < 0 || port > 65535) throw new NativeError("EINVAL", errnos.EINVAL, "bind", `a port is a number from 0 to 65535, not ${port}`);
		if (options.reuseAddress) setOption(this.fd, Option.reuseAddress, 1);
		writeSockaddr(this.#scratch.u8, receiveName, address, port, this.#scopeId);
		const length = sockaddrBytes(this.family);
		if (this.#libc.bind(this.fd, this.#scratch.address + receiveName, length) !== 0) throw bindError(this.#libc.koffi.errno(), addressText(address, this.#scopeId), port);
		this.#readPort();
	}
	#readPort() {
		const u32 = this.#u32;
		const { address } = this.#scratch;
		u32[sendVector / 4] = sockaddrBytes(6);
		const result = this.#libc.getsockname(this.fd, address + receiveName, address + sendVector);
		const family = this.family === 4 ? 2 : 10;
		const errno = result === 0 ? errnos.EAFNOSUPPORT : this.#libc.koffi.errno();
		if (result !== 0 || (u32[receiveName / 4] & 65535) !== family) throw new NativeError(errnoName(errno), errno, "getsockname", `descriptor ${this.fd} is not an IPv${this.family} socket of this process`);
		this.#port = portOf(u32[receiveName / 4] >>> 16);
	}
	/**
	* Sends `length` bytes at `at` to a destination (see `destination`), cut into datagrams of `segmentBytes`, of which
	* the last may be shorter (0: one datagram). At most 64 datagrams and 65,507 bytes. Returns the bytes that were sent,
	* or a negated errno with nothing sent: −11 (EAGAIN) when the socket's buffer is full, −90 (EMSGSIZE) when a datagram
	* does not fit the way to the destination.
	*
	* Fewer than `length` bytes, always whole datagrams: the buffer became full, or the kernel just refused UDP_SEGMENT
	* for this way (a device without checksum offload). From then on `segmentation` is false, and over IPv4 the rest needs
	* checksums for identification 0 before it is sent.
	*/
	send(at, length, segmentBytes, destination) {
		this.#check(at, length, "sendmsg");
		const { low, high, count } = this.#destinations;
		if (destination >= count || destination < 0) throw this.#misuse("sendmsg", `there is no destination ${destination}`);
		const segmented = segmentBytes > 0 && length > segmentBytes;
		if (segmented && length > segmentBytes * 64) return -errnos.EMSGSIZE;
		if (segmented && !this.segmentation) return this.#sendBatch(at, length, segmentBytes, destination);
		const u32 = this.#u32;
		u32[0] = low[destination];
		u32[1] = high[destination];
		const address = this.#base + at;
		u32[sendVector / 4] = address;
		u32[17] = Math.floor(address / 4294967296);
		u32[18] = length;
		let control = this.#prefixBytes;
		if (segmented) {
			const word = (sendControl + control) / 4;
			u32[word] = 18;
			u32[word + 1] = 0;
			u32[word + 2] = Option.segment.level;
			u32[word + 3] = Option.segment.name;
			u32[word + 4] = segmentBytes;
			control += controlBytes;
		}
		u32[10] = control;
		const result = this.#libc.sendmsg(this.fd, this.#headers[0], 0);
		if (result >= 0) return result;
		const errno = this.#libc.koffi.errno();
		if (segmented && segmentationErrors.has(errno)) return this.#refused(at, length, segmentBytes, destination);
		return -errno;
	}
	/** Finds out what a refusal of UDP_SEGMENT means, by a single datagram: it leaves the same with and without. */
	#refused(at, length, segmentBytes, destination) {
		const first = this.send(at, segmentBytes, 0, destination);
		if (first < 0) return first;
		this.segmentation = false;
		if (this.family === 4) return first;
		const rest = this.send(at + first, length - first, segmentBytes, destination);
		return rest < 0 ? first : first + rest;
	}
	#sendBatch(at, length, segmentBytes, destination) {
		const { low, high } = this.#destinations;
		this.#batch ??= new Batch(sockaddrBytes(this.family), this.#scratch.address + sendControl);
		return this.#batch.send(this.#libc, this.fd, this.#base + at, length, segmentBytes, low[destination], high[destination], this.#prefixBytes);
	}
	/**
	* Receives into [at, at + capacity) without waiting: one datagram, or several of one sender and one size that the
	* kernel put together. Returns the bytes, or a negated errno: −11 (EAGAIN) when there is nothing. The other facts
	* are in the fields of this object. With a capacity of 65,535 nothing is ever truncated.
	*/
	receive(at, capacity) {
		this.#check(at, capacity, "recvmsg");
		const u32 = this.#u32;
		const address = this.#base + at;
		u32[receiveVector / 4] = address;
		u32[21] = Math.floor(address / 4294967296);
		u32[22] = capacity;
		u32[26] = 28;
		u32[34] = receiveControlBytes;
		const result = this.#libc.recvmsg(this.fd, this.#headers[1], 0);
		if (result < 0) return -this.#libc.koffi.errno();
		this.segmentBytes = result;
		this.trafficClass = 0;
		this.hopLimit = 0;
		this.truncated = (u32[36] & MSG_TRUNC) !== 0;
		this.sourcePort = portOf(u32[receiveName / 4] >>> 16);
		if (this.family === 4) u32[107] = u32[41];
		else this.sourceScope = u32[46];
		const end = (receiveControl + u32[34]) / 4;
		for (let word = receiveControl / 4; word + 4 < end; word += (u32[word] + 7 >>> 3) * 2) this.#control(word);
		return result;
	}
	#control(word) {
		const u32 = this.#u32;
		const level = u32[word + 2];
		const name = u32[word + 3];
		const value = u32[word + 4];
		if (level === Option.coalesce.level) {
			if (name === Option.coalesce.name) this.segmentBytes = value;
		} else if (level === Option.dropCount.level) {
			if (name === Option.dropCount.name) this.kernelDrops = value;
		} else if (name === Option.trafficClass4.name || name === Option.trafficClass6.name) this.trafficClass = value & 255;
		else if (name === Option.hopLimit4.name || name === Option.hopLimit6.name) this.hopLimit = value & 255;
	}
	/**
	* The index of a destination for `send`: the same for the same address. It stays until the socket closes or
	* `forgetDestinations`. Costs no allocation when it is known. A link-local address without a scope gets
	* that of the socket. Throws `NativeError`: EINVAL for an address of the other family, ENOBUFS beyond 65,536.
	*/
	destination(address, port, scopeId = 0) {
		const linkLocal = address.length === 16 && address[0] === 254 && (address[1] & 192) === 128;
		const scope = scopeId !== 0 || !(linkLocal || address.length === 16 && address[0] === 255) ? scopeId : this.#scopeId;
		return this.#destinations.index(address, port, scope);
	}
	/** Makes the indices that `destination` has given void, and room for others. */
	forgetDestinations() {
		this.#destinations.release();
	}
	/**
	* TOS or traffic class, with ECN, of what this object sends from now on. It travels with each call and costs no call
	* of its own. It is this object's: other threads at the same socket have theirs.
	*/
	setTrafficClass(value) {
		if (value === this.#trafficClass) return;
		this.#trafficClass = value & 255;
		this.#writePrefix();
	}
	/** TTL or hop limit of what this object sends from now on; 0: the system's. As `setTrafficClass`. */
	setHopLimit(value) {
		if (value === this.#hopLimit) return;
		this.#hopLimit = value & 255;
		this.#writePrefix();
	}
	#writePrefix() {
		this.#prefixBytes = 0;
		const four = this.family === 4;
		if (this.#trafficClass !== 0) this.#addPrefix(four ? Option.trafficClass4 : Option.trafficClass6, this.#trafficClass);
		if (this.#hopLimit !== 0) this.#addPrefix(four ? Option.hopLimit4 : Option.hopLimit6, this.#hopLimit);
	}
	#addPrefix({ level, name }, value) {
		const word = (sendControl + this.#prefixBytes) / 4;
		this.#u32[word] = 20;
		this.#u32[word + 1] = 0;
		this.#u32[word + 2] = level;
		this.#u32[word + 3] = name;
		this.#u32[word + 4] = value;
		this.#prefixBytes += controlBytes;
	}
	/**
	* Receives what is sent to a multicast group on an interface (its index; 0: the system chooses). The socket must be
	* bound to the group, or to no address: one that is bound to an address of the host gets only what is sent to that.
	*/
	joinGroup(group, interfaceIndex) {
		groupOption(this.fd, this.family, "join", group, interfaceIndex);
	}
	leaveGroup(group, interfaceIndex) {
		groupOption(this.fd, this.family, "leave", group, interfaceIndex);
	}
	/** Whether members of this host, too, receive what is sent to a group through this socket; they do without this call. */
	setMulticastLoop(loop) {
		setOption(this.fd, this.family === 4 ? Option.multicastLoop4 : Option.multicastLoop6, loop ? 1 : 0);
	}
	/** The interface through which multicast leaves (its index), for all threads at this socket. Other sockets of the host get a copy. */
	setMulticastInterface(interfaceIndex) {
		groupOption(this.fd, this.family, "interface", null, interfaceIndex);
	}
	/** The port it is bound to. */
	get port() {
		return this.#port;
	}
	/** Bytes that the kernel keeps for datagrams not yet received, in its own count (about twice the payload). */
	get receiveBufferBytes() {
		return option(this.fd, Option.receiveBuffer);
	}
	/** The owner closes the descriptor; after `adopt` only what this thread had is released. A second call does nothing. */
	close() {
		if (!this.#open) return;
		this.#open = false;
		this.#destinations.release();
		this.#batch?.release();
		freeScratch.push(this.#scratch);
		if (this.#owner) closeFd(this.fd);
	}
	#check(at, length, call) {
		if (!(at >= 0 && length >= 0 && at + length <= this.#sizeBytes && Number.isInteger(at))) throw this.#misuse(call, `[${at}, ${at} + ${length}) is not within the memory of ${this.#sizeBytes} bytes`);
		if (!this.#open) throw this.#misuse(call, "the socket is closed");
	}
	#misuse(call, message) {
		return new NativeError("EINVAL", errnos.EINVAL, call, message);
	}
};
// src/memory/bells.ts
/**
* Waking event loops: each thread that waits in its event loop for words of a segment has a descriptor that its loop
* watches, and a thread that has changed such a word rings by writing to it. A futex would need a thread of the pool to wait
* on it, and two more wake-ups.
*
* In the segment of a process that is the event descriptor of the thread's attachment, which the kernel can signal as well. In a
* named segment it is a pipe: which one is in the thread's attachment record, with its process, descriptor, and inode, so that nobody
* writes into something else. Others reach it through /proc/PID/fd, which processes of the same user may. Threads of the same process do,
* too: the inode tells them that the number has not passed to another file, as it may when the thread ends. The kernel signals a
* second descriptor there, which nobody else knows.
*
* A thread that cannot reach a pipe (its process belongs to another user, or to a user who has dropped privileges since, or /proc
* hides it) says so in the record (`unreachable`). That wake-up has come to nothing, so whoever waits with a pipe looks now and then
* by itself; from then on the thread waits in another way, or looks often: see parking.ts.
*/
/** Words of what a thread tells of its pipe, zero while it has none. */
const Bell = {
	state: 0,
	fd: 1,
	inode: 2,
	words: 4
};
const bellState = {
	none: 0,
	there: 1,
	unreachable: 2
};
/** Whether the event loop of the thread with this record watches a descriptor. */
function hasBell(i32, record) {
	return Atomics.load(i32, record + Bell.state) === bellState.there;
}
var Bells = class {
	#i32;
	#f64;
	#own;
	#eventFd;
	/** The pipe of this thread; −1 if it has none. */
	#pipe = -1;
	/** What the kernel signals in a named segment; −1 as long as nobody has asked for it. */
	#kernelSignals = -1;
	#waits = /* @__PURE__ */ new Set();
	#listeners = /* @__PURE__ */ new Set();
	#looksSoon = false;
	/** How often some that waited went on. They say when they wait again. */
	goneOn = 0;
	/** Pipes of other threads, by their record: with the inode that they belong to, −1 for one that cannot be reached. */
	#known = /* @__PURE__ */ new Map();
	/** `own`: the first word of this thread's record. With `eventFd` the loop watches that event descriptor, else a pipe. */
	constructor(i32, f64, own, eventFd = null) {
		this.#eventFd = eventFd;
		this.#i32 = i32;
		this.#f64 = f64;
		this.#own = own;
	}
	/** Whether this thread can be rung for; makes its pipe. */
	get usable() {
		if (this.#i32[this.#own + Bell.state] === bellState.none) this.#make();
		return this.#i32[this.#own + Bell.state] === bellState.there;
	}
	#make() {
		try {
			if (this.#eventFd !== null) this.#hear(this.#eventFd());
			else {
				this.#pipe = this.#hear();
				this.#i32[this.#own + Bell.fd] = this.#pipe;
				this.#f64[this.#own + Bell.inode >> 1] = fstatSync(this.#pipe).ino;
			}
		} catch {
			this.#give();
			return;
		}
		Atomics.store(this.#i32, this.#own + Bell.state, bellState.there);
	}
	/**
	* Makes a descriptor that this event loop watches: a pipe, or one more of an event descriptor. It belongs to a socket of Node's, and
	* closes when the thread ends.
	*/
	#hear(eventFd) {
		return gated(() => {
			const fd = makeLoopPipe();
			new Socket({
				fd,
				writable: false,
				onread: {
					buffer: /* @__PURE__ */ new Uint8Array(64),
					callback: () => this.#rung()
				}
			}).on("error", () => this.#give()).unref();
			if (eventFd !== void 0) becomeDescriptor(fd, eventFd);
			return fd;
		});
	}
	/** From now on this thread waits in another way. */
	#give() {
		this.#pipe = -1;
		this.#kernelSignals = -1;
		Atomics.store(this.#i32, this.#own + Bell.state, bellState.unreachable);
		this.#rung();
	}
	/** In a named segment: the pipe by which others end this thread's waits in the kernel; makes it. −1 if it cannot be had. */
	get pipe() {
		return this.usable || this.#pipe >= 0 ? this.#pipe : -1;
	}
	/** The event descriptor that the kernel can signal for this event loop; makes it. −1 if it cannot be had. */
	get kernelSignals() {
		if (!this.usable) return -1;
		if (this.#eventFd !== null) return this.#eventFd();
		if (this.#kernelSignals < 0) try {
			this.#kernelSignals = gated(() => {
				const eventFd = makeEventFd();
				try {
					return this.#hear(eventFd);
				} finally {
					closeFd(eventFd);
				}
			});
		} catch {}
		return this.#kernelSignals;
	}
	/**
	* Waits in the event loop until the word is another than `expected` and somebody has rung for this thread, at most
	* `timeoutMs`. A thread that changes the word must be able to see that this thread waits before this is called.
	*/
	wait(word, expected, timeoutMs) {
		if (Atomics.load(this.#i32, word) !== expected) return Promise.resolve();
		return new Promise((resolve) => {
			const wait = {
				word,
				expected,
				timer: setTimeout(() => {
					this.#waits.delete(wait);
					resolve();
				}, timeoutMs),
				resolve
			};
			this.#waits.add(wait);
		});
	}
	/** Adds one that works when this thread is rung for. */
	listen(listener) {
		this.#listeners.add(listener);
	}
	/** Whether anybody waits. */
	get waits() {
		return this.#waits.size > 0;
	}
	#rung() {
		this.onRing();
		for (const listener of this.#listeners) listener.rung();
		this.#goOn();
		return true;
	}
	/** Before anything is looked at. */
	onRing = () => {};
	/** Ends the waits whose words have changed; whether there were any. */
	#look() {
		let any = false;
		for (const wait of this.#waits) {
			if (Atomics.load(this.#i32, wait.word) === wait.expected) continue;
			any = true;
			this.#waits.delete(wait);
			clearTimeout(wait.timer);
			wait.resolve();
		}
		return any;
	}
	/** This thread has changed such a word itself. */
	lookSoon() {
		if (this.#looksSoon || this.#waits.size === 0) return;
		this.#looksSoon = true;
		queueMicrotask(() => {
			this.#looksSoon = false;
			this.onRing();
			this.#goOn();
		});
	}
	#goOn() {
		if (this.#look()) this.goneOn++;
		else if (this.#waits.size > 0) for (const listener of this.#listeners) listener.waitsOn();
	}
	/** Wakes the thread with this record, of process `pid`. */
	ring(record, pid) {
		if (record === this.#own) {
			this.lookSoon();
			return;
		}
		const inode = this.#f64[record + Bell.inode >> 1];
		let known = this.#known.get(record);
		if (known === void 0 || known.inode !== inode) {
			if (known !== void 0 && known.fd >= 0) closeSync(known.fd);
			this.#known.delete(record);
			known = {
				inode,
				fd: openPipe(pid, this.#i32[record + Bell.fd], inode, writesPipe)
			};
			if (known.fd < 0 && this.#f64[record + Bell.inode >> 1] !== inode) return;
			this.#known.set(record, known);
			if (known.fd < 0) Atomics.compareExchange(this.#i32, record + Bell.state, bellState.there, bellState.unreachable);
		}
		if (known.fd >= 0) writeByte(known.fd);
	}
};
constants.O_RDONLY | constants.O_NONBLOCK;
const writesPipe = constants.O_WRONLY | constants.O_NONBLOCK;
/**
* A pipe of another process, opened for reading or for writing; −1 if it cannot be had. Node owns this descriptor: it closes
* it when the thread ends, or when the caller does.
*/
function openPipe(pid, fd, inode, flags) {
	const path = `/proc/${pid}/fd/${fd}`;
	let opened = -1;
	try {
		if (readlinkSync(path) !== `pipe:[${inode}]`) return -1;
		opened = openSync(path, flags);
		const facts = fstatSync(opened);
		if (facts.isFIFO() && facts.ino === inode) return opened;
	} catch {}
	if (opened >= 0) closeSync(opened);
	return -1;
}
// src/memory/pages.ts
/**
* The pages of a segment: which are handed out, and which the system has given memory for.
*
*     page table       one word for each page: at the first page of a run its length and its owner, 0 everywhere else
*     granule table    one word for each granule of 16 pages: whether the system has given memory for it
*
* A run begins and ends to exist with the one store of its word in the page table. So a process that is killed between any
* two stores leaves a usable table: `high` rises before the word is written, `hint` falls before it is cleared, and the
* counters, which decide only when to look, are recounted by `#trim`.
*
* A granule gets memory before its pages are handed out (`Backing.commit`): where there is none left, that is an error of
* the allocation, and not a signal at some later store. Low pages are handed out first, so that memory that was used once is
* used again. Granules that are free altogether go back to the system (`Backing.release`), the highest first, when more than
* `slackPages` are unused: a program that allocates and frees the same makes no system call for it.
*/
const pageBytes = 4096;
const granuleBytes = 16 * pageBytes;
/** Words that the pages need in the header of the segment. */
const P = {
	/** No page below this one is free. */
	hint: 0,
	/** No page from this one on was ever handed out. */
	high: 1,
	/** Pages handed out, and granules of them and the free ones that have memory: about, after a process was killed. */
	used: 2,
	backed: 3,
	/** Free pages with memory at which the next look is due. */
	trimAt: 4,
	words: 5
};
/** State of a granule: `empty` reads as zeros; `unknown` while memory is given back, and after a process died in that. */
const granule = {
	empty: 0,
	backed: 1,
	unknown: 2
};
/** Entry of the page table at the head of a run: number of pages in bits 0–20, owner's attachment in bits 21–30. */
const runPagesMask = 2097151;
const runOwnerShift = 21;
/** Free pages that keep their memory: 4 MiB. */
const slackPages = 1024;
/** All calls but the constructor and `length` are for the thread that has the pages' lock. */
var Pages = class {
	#i32;
	#layout;
	#backing;
	/** False when the system has refused to take memory back. */
	#releases = true;
	constructor(i32, layout, backing) {
		this.#i32 = i32;
		this.#layout = layout;
		this.#backing = backing;
	}
	static format(i32, { header, first }) {
		i32[header + P.hint] = first;
		i32[header + P.high] = first;
		i32[header + P.trimAt] = slackPages;
	}
	/**
	* The first page of a new run, −1 if no range is large enough. Throws what the backing throws; nothing has changed then.
	* `dirty` gets the ranges of the run that may not read as zeros, as pairs of first page and page after the last.
	*/
	allocate(pages, owner, dirty) {
		const i32 = this.#i32;
		const { header, pageTable, end } = this.#layout;
		const hint = i32[header + P.hint];
		const high = i32[header + P.high];
		const at = this.#find(hint, pages);
		if (at < 0) return -1;
		this.#commit(at, Math.min(at + pages, end), dirty, high);
		if (at + pages > high) i32[header + P.high] = at + pages;
		i32[pageTable + at] = pages | owner << runOwnerShift;
		if (at === hint) i32[header + P.hint] = at + pages;
		i32[header + P.used] = i32[header + P.used] + pages;
		this.#lowerTrim();
		return at;
	}
	#find(from, pages) {
		const i32 = this.#i32;
		const { header, pageTable, end } = this.#layout;
		const high = i32[header + P.high];
		let start = from;
		for (let at = from; at < high;) {
			const entry = i32[pageTable + at];
			if (entry === 0) {
				at++;
				if (at - start === pages) return start;
			} else {
				at += entry & runPagesMask;
				start = at;
			}
		}
		return start + pages <= end ? start : -1;
	}
	/** Sees to it that these pages have memory. */
	commit(firstPage, endPage) {
		this.#commit(firstPage, endPage, null, 0);
	}
	/** Whether they have it. */
	committed(firstPage, endPage) {
		const { granuleTable } = this.#layout;
		const last = Math.floor((endPage - 1) / 16);
		for (let g = Math.floor(firstPage / 16); g <= last; g++) if (this.#i32[granuleTable + g] !== granule.backed) return false;
		return true;
	}
	#commit(firstPage, endPage, dirty, high) {
		const i32 = this.#i32;
		const { header, granuleTable, first } = this.#layout;
		const end = Math.floor((endPage - 1) / 16) + 1;
		for (let g = Math.floor(firstPage / 16); g < end;) {
			const state = i32[granuleTable + g];
			let next = g + 1;
			while (next < end && i32[granuleTable + next] === state) next++;
			if (state !== granule.empty && dirty !== null) {
				const from = Math.max(g * 16, firstPage);
				const to = Math.min(next * 16, endPage, high);
				if (to > from) dirty.push(from, to);
			}
			if (state !== granule.backed) {
				this.#backing.commit(g * granuleBytes, (next - g) * granuleBytes);
				for (let each = g; each < next; each++) i32[granuleTable + each] = granule.backed;
				if (firstPage >= first) i32[header + P.backed] = i32[header + P.backed] + next - g;
			}
			g = next;
		}
	}
	/** Ends the run that begins here; 0 if none does, else its pages. */
	free(page) {
		const i32 = this.#i32;
		const { header, pageTable } = this.#layout;
		const pages = this.length(page);
		if (pages === 0) return 0;
		if (page < i32[header + P.hint]) i32[header + P.hint] = page;
		i32[pageTable + page] = 0;
		i32[header + P.used] = i32[header + P.used] - pages;
		if (this.#releases && this.#unused() > i32[header + P.trimAt]) this.#trim();
		return pages;
	}
	/** Pages of the run that begins here, 0 if none does. */
	length(page) {
		const { header, pageTable, first } = this.#layout;
		if (!(page >= first && page < this.#i32[header + P.high])) return 0;
		return this.#i32[pageTable + page] & runPagesMask;
	}
	freeAllOf(owner) {
		const i32 = this.#i32;
		const { header, pageTable, first } = this.#layout;
		for (let at = first; at < i32[header + P.high];) {
			const entry = i32[pageTable + at];
			if (entry !== 0 && entry >> runOwnerShift === owner) this.free(at);
			at += entry === 0 ? 1 : entry & runPagesMask;
		}
	}
	#unused() {
		const { header } = this.#layout;
		return this.#i32[header + P.backed] * 16 - this.#i32[header + P.used];
	}
	/** After more has come into use, less that becomes free is worth a look. */
	#lowerTrim() {
		const i32 = this.#i32;
		const { header } = this.#layout;
		const due = Math.max(this.#unused() + slackPages / 2, slackPages);
		if (due < i32[header + P.trimAt]) i32[header + P.trimAt] = due;
	}
	/** Gives memory back until half of the slack is left, as far as whole granules are free. */
	#trim() {
		const i32 = this.#i32;
		const { header, pageTable, granuleTable, first } = this.#layout;
		const high = i32[header + P.high];
		let used = 0;
		/** Granules that are free altogether, as pairs of first and the one after the last. */
		const gaps = [];
		for (let at = first, start = first;;) {
			const entry = at < high ? i32[pageTable + at] : -1;
			if (entry === 0) {
				at++;
				continue;
			}
			const from = Math.ceil(start / 16);
			const to = at < high ? Math.floor(at / 16) : Math.ceil(at / 16);
			if (to > from) gaps.push(from, to);
			if (at >= high) break;
			used += entry & runPagesMask;
			at += entry & runPagesMask;
			start = at;
		}
		let backed = 0;
		const lastGranule = Math.ceil(high / 16);
		for (let g = first / 16; g < lastGranule; g++) if (i32[granuleTable + g] !== granule.empty) backed++;
		i32[header + P.used] = used;
		let surplus = Math.floor((backed * 16 - used - slackPages / 2) / 16);
		for (let gap = gaps.length - 2; gap >= 0 && surplus > 0 && this.#releases; gap -= 2) for (let to = gaps[gap + 1]; to > gaps[gap] && surplus > 0 && this.#releases;) {
			let from = to;
			while (from > gaps[gap] && to - from < surplus && i32[granuleTable + from - 1] !== granule.empty) from--;
			if (from < to) {
				const given = this.#release(from, to);
				surplus -= given;
				backed -= given;
			}
			to = from - 1;
		}
		i32[header + P.backed] = backed;
		const stays = Math.max(backed * 16 - used, 0);
		i32[header + P.trimAt] = Math.max(stays + (Math.min(slackPages, used) >> 1), slackPages);
	}
	/** Gives the memory of granules back; how many. */
	#release(from, to) {
		const i32 = this.#i32;
		const { granuleTable } = this.#layout;
		for (let g = from; g < to; g++) i32[granuleTable + g] = granule.unknown;
		this.#releases = this.#backing.release(from * granuleBytes, (to - from) * granuleBytes);
		const state = this.#releases ? granule.empty : granule.backed;
		for (let g = from; g < to; g++) i32[granuleTable + g] = state;
		return this.#releases ? to - from : 0;
	}
};
// src/memory/segment-layout.ts
/**
* The layout of a segment: its header, its attachments, where its tables and its heap begin; and whether memory or a file has
* that layout.
*
*     0            header: magic, version, sizes, control lock
*     4096         attachments: one record for each thread that uses the segment
*     pageTable    one 32-bit entry for each 4 KiB page of the heap, and the table of granules behind it (see pages.ts)
*     staticStart  tables of fixed size that belong to the layer above
*     heapStart    pages handed out by `allocate`
*/
const magic = 1112692273;
const Header = {
	magic: 0,
	version: 1,
	pages: 2,
	staticStart: 3,
	staticBytes: 4,
	heapStart: 5,
	pageTable: 6,
	state: 7,
	granuleTable: 9,
	controlLock: 16,
	pagesLock: 32,
	attachmentsHigh: 48,
	/** How many janitors have begun: see lives.ts. */
	janitors: 49,
	epoch: 64,
	/** 1 when operations of this segment may be entered without a barrier: see `entersFreely`. */
	freeEntry: 80,
	/** What pages.ts keeps. */
	heap: 96
};
const headerState = {
	fresh: 0,
	ready: 1,
	retired: 2
};
const maxAttachments = 1024;
const attachmentBytes = 128;
const attachmentsStart = pageBytes;
/** Words of an attachment record; the operation sequence has a cache line of its own. */
const Attachment = {
	state: 0,
	pid: 1,
	tid: 2,
	generation: 3,
	startTime: 4,
	/** Of a thread that cleans up after dead processes: the descriptor of its life pipe and 1, or −1 if it has none; else 0. */
	janitor: 6,
	/** 1: the thread has come to a closed gate (native/loading.ts) and never goes on: it counts as dead. */
	stopped: 7,
	bell: 8,
	/** In the segment of a process: the descriptor and 1 by which threads and the kernel wake this one; else 0. See parking.ts. */
	eventFd: 12,
	/** Of the process: where its numbers count. */
	pidNamespace: 13,
	/** How the thread waits: see parking.ts. */
	parked: 14,
	operation: 16,
	/**
	* Of its poll requests: see native/poll-requests.ts. It means something in its process only, and outlives a thread that was
	* terminated: no other process may take this record as long as that one lives.
	*/
	pollContext: 18,
	/** Of the life pipe. */
	lifeInode: 20,
	/** When the process started: with `pid`, which process it is. */
	processStart: 22
};
const ownerMask = 1023;
const generationMask = 2097151;
/**
* `taken`: a thread prepares it, or cleans up after another one; then the use of that thread is in the other bits. Any other
* value is the use of the thread that is there.
*/
const attachmentState = {
	free: 0,
	taken: 1 << 31
};
const isUse = (state) => state > 0;
const pageTableStart = 135168;
/** First word of an attachment's record. */
function attachmentWord(id) {
	return (attachmentsStart + id * attachmentBytes) / 4;
}
function pagesOf(sizeBytes) {
	return Math.floor(sizeBytes / granuleBytes) * 16;
}
/** First word of the table of granules. */
function granuleTableOf(sizeBytes) {
	return pageTableStart / 4 + pagesOf(sizeBytes);
}
function staticStartOf(sizeBytes) {
	return roundUp((granuleTableOf(sizeBytes) + pagesOf(sizeBytes) / 16) * 4, granuleBytes);
}
function heapStartOf(sizeBytes, staticBytes) {
	return staticStartOf(sizeBytes) + roundUp(staticBytes, granuleBytes);
}
function pagesLayout(i32) {
	return {
		header: Header.heap,
		pageTable: i32[Header.pageTable] / 4,
		granuleTable: i32[Header.granuleTable],
		first: i32[Header.heapStart] / pageBytes,
		end: i32[Header.pages]
	};
}
/** The pages that hold these bytes: the first, and the one after the last. */
function pagesFor(byteOffset, lengthBytes) {
	return [Math.floor(byteOffset / pageBytes), Math.ceil((byteOffset + lengthBytes) / pageBytes)];
}
function roundUp(value, unit) {
	return Math.ceil(value / unit) * unit;
}
/** Bytes of a segment with room for so many bytes of pages, at most 2 GiB: beyond, offsets do not fit in a word. */
function segmentBytes$2(staticBytes, heapBytes) {
	const heap = roundUp(heapBytes, granuleBytes);
	let bytes = heap;
	for (let needed = 0; bytes < 2 ** 31; bytes = needed) {
		needed = heapStartOf(bytes, staticBytes) + heap;
		if (needed <= bytes) return bytes;
	}
	return 2 ** 31;
}
/** Makes a segment of zeros, which stays `fresh` until its creator is in it. */
function formatSegment(i32, sizeBytes, staticBytes) {
	i32[Header.version] = 8;
	i32[Header.pages] = pagesOf(sizeBytes);
	i32[Header.pageTable] = pageTableStart;
	i32[Header.granuleTable] = granuleTableOf(sizeBytes);
	i32[Header.staticStart] = staticStartOf(sizeBytes);
	i32[Header.staticBytes] = staticBytes;
	i32[Header.heapStart] = heapStartOf(sizeBytes, staticBytes);
	Pages.format(i32, pagesLayout(i32));
	i32[Header.epoch] = 1;
	i32[Header.magic] = magic;
}
/** Null if it cannot be a segment, by its size. `buffer` may be only the beginning of it. */
function wordsOf(buffer, sizeBytes) {
	return sizeBytes % 4096 === 0 && sizeBytes > pageTableStart ? new Int32Array(buffer) : null;
}
/** Bytes of a segment that say who uses it: its header and its attachments. */
const headBytes$1 = pageTableStart;
/** Whether the header is that of a segment of this version, with the size that it has. */
function isOurs(i32, sizeBytes) {
	return i32[Header.magic] === 1112692273 && i32[Header.version] === 8 && wellFormed(i32, sizeBytes);
}
function wellFormed(i32, sizeBytes) {
	return i32[Header.pages] === pagesOf(sizeBytes) && i32[Header.staticStart] === staticStartOf(sizeBytes) && i32[Header.heapStart] === heapStartOf(sizeBytes, i32[Header.staticBytes]) && i32[Header.heapStart] < sizeBytes;
}
// src/memory/parking.ts
/**
* How a thread waits, and how others wake it: one way for each attachment, whatever the thread waits for. A thread that waits
* says in the record of its attachment how it does so (`Attachment.parked`), and then looks once more at what it waits for; a
* thread that has changed that takes the word away, and wakes the other one in the way that it said:
*
*     futex         it blocks, on that word
*     descriptors   it blocks in the kernel, on sockets and on a descriptor of its own
*     loop          it waits in its event loop, which watches that descriptor: see bells.ts
*
* So a producer knows a thread by the number of its attachment and nothing else, and makes no system call for one that runs.
*
* In the segment of a process that descriptor is an event descriptor, signalled by its number. In a named segment it is a pipe, whose
* number means something in one process only; all others, of whatever process, open it by way of /proc and know it by its inode. A
* pipe costs 0.05 µs more each time.
*/
const parked = {
	no: 0,
	futex: 1,
	descriptors: 2,
	loop: 3
};
/** How long a thread that has a pipe waits for it at a time: the first wake-up that cannot reach it is lost. */
const longestHearingMs = 250;
/** And one that some cannot reach, or that has none: it is woken by nothing but looking. */
const longestDeafMs = 10;
var Parking = class {
	#segment;
	#i32;
	#own;
	#parked;
	/** Of this thread's event loop. */
	bells;
	#requests;
	#descriptor = -1;
	#defers = false;
	/** The attachments to wake, as far as `#deferredCount`. */
	#deferred = [];
	#deferredCount = 0;
	constructor(segment) {
		const { i32, f64, me, name } = segment;
		this.#segment = segment;
		this.#i32 = i32;
		this.#own = attachmentWord(me);
		this.#parked = this.#own + Attachment.parked;
		this.bells = new Bells(i32, f64, this.#own + Attachment.bell, name === null ? () => this.#eventFd() : null);
		this.bells.onRing = () => {
			Atomics.store(i32, this.#parked, this.bells.waits ? parked.loop : parked.no);
			if (this.#requests !== void 0) this.#requests.signaled = true;
		};
	}
	/** Blocks while the word has the expected value and nobody wakes this thread, at most `timeoutMs`. */
	park(word, expected, timeoutMs) {
		Atomics.store(this.#i32, this.#parked, parked.futex);
		if (Atomics.load(this.#i32, word) === expected) this.#segment.wait(this.#parked, parked.futex, timeoutMs);
		this.#runOn();
	}
	/**
	* Begins to wait for descriptors: a thread that changes something from here on wakes this one. What it waits for has to be
	* looked at after this, and then follows `waitReadable` or not, and `endWait`. With several segments that is done for each.
	*/
	beginWait() {
		this.#descriptor = this.#segment.name === null ? this.#eventFd() : this.bells.pipe;
		Atomics.store(this.#i32, this.#parked, parked.descriptors);
	}
	/** Between `beginWait` and `endWait`: what ends a wait in the kernel; −1 if it cannot be had. */
	get descriptor() {
		return this.#descriptor;
	}
	/** How long one wait in the kernel may last, so that a lost wake-up delays and does not stop. */
	get longestMs() {
		if (this.#descriptor < 0) return longestDeafMs;
		if (this.#segment.name === null) return Number.POSITIVE_INFINITY;
		return hasBell(this.#i32, this.#own + Attachment.bell) ? longestHearingMs : longestDeafMs;
	}
	/** Makes `descriptor` unreadable. */
	drain() {
		if (this.#segment.name === null) drainEventFd(this.#descriptor);
		else drainPipe(this.#descriptor);
	}
	endWait() {
		this.#runOn();
	}
	/**
	* The descriptor that ends this thread's waits in the segment of its process, −1 if it cannot be had. It is never closed but left to the next thread with
	* this attachment number, so that a late signal meets nothing else.
	*/
	#eventFd() {
		const word = this.#own + Attachment.eventFd;
		if (this.#i32[word] === 0) try {
			this.#i32[word] = makeEventFd() + 1;
		} catch {}
		return this.#i32[word] - 1;
	}
	/** Whether the event loop has a descriptor of its own to be woken by. If not, `waitInLoop` takes more. */
	get hearsBells() {
		return nativeAvailable && this.bells.usable;
	}
	/** Waits in the event loop while the word has the expected value, at most `timeoutMs`; it may end earlier. */
	async waitInLoop(word, expected, timeoutMs) {
		Atomics.store(this.#i32, this.#parked, parked.loop);
		if (this.hearsBells) await this.bells.wait(word, expected, timeoutMs);
		else if (Atomics.load(this.#i32, word) === expected) await this.#segment.waitAsync(this.#parked, parked.loop, timeoutMs);
	}
	/**
	* Rings for this thread's event loop once one of the first `count` of `fds` can be read: see native/poll-requests.ts. False where
	* that cannot be had.
	*/
	watchInLoop(fds, count) {
		if (!this.hearsBells) return false;
		if (this.#requests === void 0) {
			const eventFd = this.bells.kernelSignals;
			if (eventFd < 0) return false;
			const { f64, me } = this.#segment;
			this.#requests = new PollRequests(eventFd, pollContextOf(f64, me));
		}
		return this.#requests.arm(fds, count);
	}
	/** This thread no longer blocks. A wake-up that ended its wait may have been meant for the event loop. */
	#runOn() {
		Atomics.store(this.#i32, this.#parked, parked.no);
		if (this.#requests !== void 0) this.#requests.signaled = true;
		this.bells.lookSoon();
	}
	/**
	* From now on `wake` only notes whom to wake, until `wakeDeferred`: for a thread that holds locks or is in an operation. The kernel
	* may let the other thread run at once in its place, which then would wait for those locks.
	*/
	deferWakes() {
		this.#defers = true;
	}
	/** Wakes those that were noted, and defers no longer. */
	wakeDeferred() {
		this.#defers = false;
		while (this.#deferredCount > 0) this.wake(this.#deferred[--this.#deferredCount]);
	}
	#defer(attachment) {
		const count = this.#deferredCount;
		for (let i = 0; i < count; i++) if (this.#deferred[i] === attachment) return;
		this.#deferred[count] = attachment;
		this.#deferredCount = count + 1;
	}
	/** Wakes a thread if it waits. What it waits for must have changed before. */
	wake(attachment) {
		if (this.#defers) {
			this.#defer(attachment);
			return;
		}
		const record = attachmentWord(attachment);
		switch (Atomics.exchange(this.#i32, record + Attachment.parked, parked.no)) {
			case parked.futex:
				this.#segment.notify(record + Attachment.parked);
				return;
			case parked.descriptors:
				this.#signal(record);
				return;
			case parked.loop: this.#ring(attachment, record);
		}
	}
	#signal(record) {
		if (this.#segment.name !== null) {
			this.bells.ring(record + Attachment.bell, this.#i32[record + Attachment.pid]);
			return;
		}
		const fd = this.#i32[record + Attachment.eventFd] - 1;
		if (fd >= 0) signalEventFd(fd);
	}
	#ring(attachment, record) {
		const bell = record + Attachment.bell;
		if (!hasBell(this.#i32, bell)) this.#segment.notify(record + Attachment.parked);
		else if (attachment === this.#segment.me) this.bells.lookSoon();
		else this.#signal(record);
	}
};
/** For each descriptor of a wait, whether it can be read. */
let ready = /* @__PURE__ */ new Uint8Array(64);
/**
* Blocks until this thread is woken by way of one of `parkings`, of which each has begun to wait, or one of the first `count` of `fds`
* can be read, at most `timeoutMs`; it may end earlier. Behind those `fds` has room for one more of each parking. Returns how many can be
* read, with those of the parkings: 0 after the time.
*/
function waitReadable(parkings, fds, count, timeoutMs) {
	let all = count;
	let ms = timeoutMs;
	for (const parking of parkings) {
		fds[all++] = parking.descriptor;
		ms = Math.min(ms, parking.longestMs);
	}
	if (ready.length < all) ready = new Uint8Array(2 * all);
	const readable = waitReadable$1(fds, all, ms, ready);
	if (readable > 0) {
		for (let i = 0; i < parkings.length; i++) if (ready[count + i] === 1) parkings[i].drain();
	}
	return readable;
}
/** Where the context of the poll requests of an attachment is. */
function pollContextOf(f64, attachment) {
	return {
		f64,
		index: attachmentWord(attachment) + Attachment.pollContext >> 1
	};
}
// src/memory/processor.ts
/** How the processor orders memory, and back-off. */
/**
* x86 keeps stores in order, and loads in order (TSO): there a plain store releases a lock or publishes an entry, and a
* plain load sees what was written before what it reads. Elsewhere these must be atomic.
*/
const processorOrders = process.arch === "x64" || process.arch === "ia32";
const sleeper = new Int32Array(new SharedArrayBuffer(4));
/** Blocks this thread; for back-off only. */
function sleepMs(ms) {
	Atomics.wait(sleeper, 0, 0, ms);
}
// src/memory/segment-errors.ts
/** What goes wrong with a segment. */
var SegmentError = class extends Error {
	name = "SegmentError";
	code;
	constructor(code, message) {
		super(message);
		this.code = code;
	}
};
/** That the system has no memory is a `SegmentError` here; everything else stays what it is. */
function outOfMemory(error, what) {
	if (!(error instanceof NativeError) || ![
		"ENOSPC",
		"ENOMEM",
		"EDQUOT"
	].includes(error.code)) return error;
	return new SegmentError("ENOMEM", `${what}: ${error.message}`);
}
/** A program runs whose segments have another layout: version of it, and bytes of the tables above. */
function ofOtherVersion(name, file, found, own) {
	const [theirs, ours] = [found, own].map(([version, tables]) => `layout ${version} with tables of ${tables} bytes`);
	return new SegmentError("ENXIO", `segment '${name}' belongs to another version of verbena that is running (${theirs}, not ${ours}): end its programs first; \`fuser -v /dev/shm/${file}\` lists them`);
}
function ofOtherContainer(name) {
	return new SegmentError("ENXIO", `segment '${name}' is used by processes of another container (PID namespace), and those of two cannot tell whether the others still live: let them share one (docker run --pid, shareProcessNamespace of Kubernetes), or use another name`);
}
// src/memory/threads.ts
/**
* Threads: starting one from a TypeScript or JavaScript file, and telling whether a thread of any process still lives.
*
* A thread is known by its process id, its thread id and its start time: the kernel gives ids out again, but not in
* the same clock tick.
*/
/** `terminate` waits until neither the thread nor one below it loads native code: see native/loading.ts. */
var Thread = class extends Worker {
	#gate;
	constructor(entry, options, gate) {
		super(entry, options);
		this.#gate = gate;
	}
	async terminate() {
		await closeGate(this.#gate);
		return await super.terminate();
	}
};
/**
* The environment of our threads is the program's without what Node is told to load first, on its command line or in
* NODE_OPTIONS: that is meant for threads of the program. Loading it would take time in each thread, and do what a program
* does once, once more.
*/
function ownEnvironment() {
	return {
		execArgv: [],
		env: {
			...process.env,
			NODE_OPTIONS: ""
		}
	};
}
/**
* Starts a thread that runs the module `entry` (a file URL). In development the entry is TypeScript, which a worker
* of Node 20 cannot load by itself: ts-worker.mjs then loads it. The entry finds its data in `threadData()`, or in
* `workerData` of node:worker_threads.
*/
function startThread(entry, given = {}) {
	const options = {
		...ownEnvironment(),
		...given
	};
	const stripsTypes = Boolean(process.features.typescript);
	const gate = makeGate();
	if (!/\.[mc]?ts$/.test(entry.pathname) || stripsTypes) return behind(gate, () => new Thread(entry, options, gate));
	const wrapped = {
		verbenaEntry: entry.href,
		verbenaData: options.workerData
	};
	const url = new URL("./ts-worker.mjs", import.meta.url);
	return behind(gate, () => new Thread(url, {
		...options,
		workerData: wrapped
	}, gate));
}
let ownThreadId = -1;
/** The kernel's id of this thread; 0 where there is no /proc. */
function osThreadId() {
	if (ownThreadId >= 0) return ownThreadId;
	try {
		const link = readlinkSync("/proc/thread-self");
		ownThreadId = Number(link.slice(link.lastIndexOf("/") + 1));
	} catch {
		ownThreadId = 0;
	}
	return ownThreadId;
}
let ownNamespace = null;
/** Which numbers of processes are meant: those of another container are others. 0 where that cannot be told. */
function pidNamespace() {
	if (ownNamespace !== null) return ownNamespace;
	try {
		ownNamespace = Number(/\[(\d+)\]/.exec(readlinkSync("/proc/self/ns/pid"))?.[1] ?? 0) | 0;
	} catch {
		ownNamespace = 0;
	}
	return ownNamespace;
}
const PF_EXITING = 4;
/** What a file `stat` in /proc says: proc_pid_stat(5). */
function readStat(text) {
	const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
	const field = (number) => fields[number - 3];
	return {
		state: field(3) ?? "",
		exiting: (Number(field(9) ?? 0) & PF_EXITING) !== 0,
		startTime: Number(field(22) ?? 0)
	};
}
/** Whether it is a process of another user, which /proc may not show (its option hidepid). */
function isHidden(pid) {
	try {
		process.kill(pid, 0);
		return false;
	} catch (error) {
		return error.code === "EPERM";
	}
}
/** Null if there is no such thread; undefined if that cannot be told, for want of descriptors for example. */
function threadStat(pid, tid) {
	let text;
	try {
		text = readFileSync(`/proc/${pid}/task/${tid}/stat`, "latin1");
	} catch (error) {
		const { code } = error;
		return (code === "ENOENT" || code === "ESRCH") && !isHidden(pid) ? null : void 0;
	}
	return readStat(text);
}
/** When the thread started, in clock ticks from the start of the machine; 0 if it does not exist or there is no /proc. */
function threadStartTime(pid, tid) {
	return threadStat(pid, tid)?.startTime ?? 0;
}
let ownStartTime = null;
/** When this process started; as `threadStartTime`. */
function processStartTime() {
	ownStartTime ??= threadStartTime(process.pid, process.pid);
	return ownStartTime;
}
/** Whether a thread with this state still runs, if `ours` is said of one of this process. */
function runs({ state, exiting }, ours) {
	return state !== "Z" && state !== "X" && !(ours && exiting);
}
/**
* True if the thread still runs. A `startTime` of 0 means unknown: then any thread with this id counts. One that has
* ended but that its parent has not yet waited for (a zombie) is dead. Where there is no /proc, the process decides.
*/
function threadAlive(pid, tid, startTime) {
	if (!(pid > 0)) return false;
	if (osThreadId() !== 0 && tid !== 0) {
		const stat = threadStat(pid, tid);
		if (stat === void 0) return true;
		if (stat === null || !runs(stat, pid === process.pid)) return false;
		return startTime === 0 || stat.startTime === startTime;
	}
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		return error.code === "EPERM";
	}
}
// src/memory/attachments.ts
/**
* Which threads use a segment, and which of them still live. A thread attaches with its process, thread ID and start time, so
* that others can tell a dead one; what it left is cleaned up by one that claims it.
*/
/** A segment as the threads that are attached to it. */
var Attachments = class {
	i32;
	f64;
	/** This thread's attachment number. */
	me;
	/** What this thread writes into locks: its attachment number, and which use of that number it is. */
	lockValue;
	/** Attaches this thread. ENOMEM if too many are. */
	constructor(i32, f64) {
		this.i32 = i32;
		this.f64 = f64;
		this.lockValue = this.#attach();
		this.me = this.lockValue & ownerMask;
	}
	/** Returns the use that this thread makes of an attachment from now on. */
	#attach() {
		const i32 = this.i32;
		const tid = osThreadId();
		for (let id = 1; id < maxAttachments; id++) {
			const a = attachmentWord(id);
			const { free, taken } = attachmentState;
			if (i32[a + Attachment.state] === free && Atomics.compareExchange(i32, a + Attachment.state, free, taken) === free) {
				if (!this.#forgetPolls(id)) {
					Atomics.store(i32, a + Attachment.state, free);
					continue;
				}
				i32[a + Attachment.pid] = process.pid;
				this.f64[a + Attachment.processStart >> 1] = processStartTime();
				i32[a + Attachment.tid] = tid;
				this.f64[a + Attachment.startTime >> 1] = threadStartTime(process.pid, tid);
				i32[a + Attachment.operation] = 0;
				i32[a + Attachment.janitor] = 0;
				i32[a + Attachment.stopped] = 0;
				i32[a + Attachment.parked] = 0;
				i32[a + Attachment.pidNamespace] = pidNamespace();
				i32.fill(0, a + Attachment.bell, a + Attachment.bell + Bell.words);
				i32[a + Attachment.generation] = i32[a + Attachment.generation] + 1 & generationMask;
				const use = id | i32[a + Attachment.generation] << 10;
				Atomics.store(i32, a + Attachment.state, use);
				for (let high = i32[Header.attachmentsHigh]; high < id; high = i32[Header.attachmentsHigh]) Atomics.compareExchange(i32, Header.attachmentsHigh, high, id);
				return use;
			}
		}
		throw new SegmentError("ENOMEM", `more than 1023 threads use this segment`);
	}
	/**
	* Forgets the poll requests of a free record that this process takes, unless they are its own: a context is a number that means
	* something else here. False if their process lives: it still has to end them, and finds them in this record.
	*/
	#forgetPolls(id) {
		const a = attachmentWord(id);
		const { f64 } = this;
		const context = a + Attachment.pollContext >> 1;
		if (f64[context] === 0 || this.isOwn(id)) return true;
		const pid = this.i32[a + Attachment.pid];
		if (threadAlive(pid, pid, f64[a + Attachment.processStart >> 1])) return false;
		f64[context] = 0;
		return true;
	}
	/** Whether this process made the last use of an attachment, by its number or a use of it, and not one that had its process ID before. */
	isOwn(attachment) {
		const a = attachmentWord(attachment & ownerMask);
		return this.i32[a + Attachment.pid] === process.pid && this.f64[a + Attachment.processStart >> 1] === processStartTime();
	}
	/** Whether the thread behind an attachment still runs; a reading of /proc, so not for the data path. */
	attachmentAlive(id) {
		if (id === this.me) return true;
		const a = attachmentWord(id);
		return isUse(this.i32[a + Attachment.state]) && threadRuns(this.i32, this.f64, a);
	}
	/** The uses that threads make of attachments. */
	*uses() {
		for (let id = 1; id <= this.i32[Header.attachmentsHigh]; id++) {
			const use = Atomics.load(this.i32, attachmentWord(id) + Attachment.state);
			if (isUse(use)) yield use;
		}
	}
	/** The processes whose threads use this segment. */
	attachedPids() {
		const pids = /* @__PURE__ */ new Set();
		for (const use of this.uses()) pids.add(this.i32[attachmentWord(use & ownerMask) + Attachment.pid]);
		return pids;
	}
	/** Whether an attachment is still used as it was: nobody has cleaned up after that thread. */
	usesAttachment(use) {
		return Atomics.load(this.i32, attachmentWord(use & ownerMask) + Attachment.state) === use;
	}
	/** The uses of attachments whose threads ended without cleaning up. */
	deadAttachments() {
		const dead = [];
		for (let id = 1; id <= this.i32[Header.attachmentsHigh]; id++) {
			const a = attachmentWord(id);
			this.#unclaim(id);
			const use = Atomics.load(this.i32, a + Attachment.state);
			if (isUse(use) && id !== this.me && !threadRuns(this.i32, this.f64, a)) dead.push(use);
		}
		return dead;
	}
	/** Says that this thread cleans up after dead processes, and where its life pipe is (`fd` −1: nowhere). */
	becomeJanitor(fd, inode) {
		const a = attachmentWord(this.me);
		this.f64[a + Attachment.lifeInode >> 1] = inode;
		Atomics.store(this.i32, a + Attachment.janitor, fd < 0 ? -1 : fd + 1);
		Atomics.add(this.i32, Header.janitors, 1);
	}
	/** Whether a thread of this process cleans up after dead processes. */
	hasJanitor() {
		for (const use of this.uses()) {
			const a = attachmentWord(use & ownerMask);
			if (this.i32[a + Attachment.janitor] !== 0 && this.i32[a + Attachment.pid] === process.pid && this.attachmentAlive(use & 1023)) return true;
		}
		return false;
	}
	/** Of all that see a thread gone, one may clean up after its use of an attachment: that one gets its number, others 0. */
	claim(use) {
		const id = use & ownerMask;
		if (use === this.lockValue) return id;
		const taken = attachmentState.taken | this.lockValue;
		return Atomics.compareExchange(this.i32, attachmentWord(id) + Attachment.state, use, taken) === use ? id : 0;
	}
	/** Gives up the claim of a thread that ended while it cleaned up, so that another one does it. */
	#unclaim(id) {
		const { i32 } = this;
		const a = attachmentWord(id);
		const state = Atomics.load(i32, a + Attachment.state);
		const reaper = state & ~attachmentState.taken;
		if (state >= 0 || reaper === 0 || reaper === this.lockValue || this.ownerAlive(reaper)) return;
		Atomics.compareExchange(i32, a + Attachment.state, state, id | i32[a + Attachment.generation] << 10);
	}
	/**
	* The uses that this process makes of attachments: of this thread, and in the main thread of all, since they end with it.
	* This thread's is the last: it is needed while it cleans up, since locks of a thread without one are free for all.
	*/
	ownAttachments() {
		if (!isMainThread) return [this.lockValue];
		const own = [];
		for (const use of this.uses()) if (use !== this.lockValue && this.i32[attachmentWord(use & 1023) + Attachment.pid] === process.pid) own.push(use);
		return [...own, this.lockValue];
	}
	/** Whether the thread that wrote this value into a lock still has its attachment and runs. */
	ownerAlive(owner) {
		const id = owner & ownerMask;
		return this.i32[attachmentWord(id) + Attachment.state] === owner && this.attachmentAlive(id);
	}
};
/** Whether a process with a number of another PID namespace has attached. */
function usedElsewhere(i32) {
	const own = pidNamespace();
	for (let id = 1; id < maxAttachments; id++) {
		const a = attachmentWord(id);
		if (isUse(i32[a + Attachment.state]) && isForeign(i32[a + Attachment.pidNamespace], own)) return true;
	}
	return false;
}
function isForeign(namespace, own) {
	return namespace !== own && namespace !== 0 && own !== 0;
}
function threadRuns(i32, f64, a) {
	if (i32[a + Attachment.stopped] === 1) return false;
	if (isForeign(i32[a + Attachment.pidNamespace], pidNamespace())) return true;
	return threadAlive(i32[a + Attachment.pid], i32[a + Attachment.tid], f64[a + Attachment.startTime >> 1]);
}
/** Whether any thread that uses the segment lives. */
function anyoneAlive(i32) {
	const f64 = new Float64Array(i32.buffer);
	for (let id = 1; id < maxAttachments; id++) {
		const a = attachmentWord(id);
		if (isUse(i32[a + Attachment.state]) && threadRuns(i32, f64, a)) return true;
	}
	return false;
}
// src/memory/copy.ts
const isX86 = process.arch === "x64" || process.arch === "ia32";
/** Copies within `u8`, by WebAssembly if `wasm` is the memory below it. */
function makeCopier(u8, wasm) {
	if (wasm !== void 0) return instance(u8, wasm, isX86).copy;
	const i32 = words(u8);
	return (dst, src, lengthBytes) => {
		if (lengthBytes <= 32 && ((dst | src | lengthBytes) & 3) === 0) copyWords(i32, dst / 4, src / 4, lengthBytes / 4);
		else u8.copyWithin(dst, src, src + lengthBytes);
	};
}
/** The same, and the tail becomes visible to other threads and processes after all the rest. */
function makeOrderedCopier(u8, wasm, storesAreOrdered = isX86) {
	if (wasm !== void 0) return instance(u8, wasm, storesAreOrdered).copyOrdered;
	const i32 = words(u8);
	const i16 = new Int16Array(u8.buffer, u8.byteOffset, Math.floor(u8.byteLength / 2));
	return (dst, src, lengthBytes) => {
		if (lengthBytes <= 0) return;
		const end = dst + lengthBytes;
		if ((end & 3) === 0 && lengthBytes >= 4) {
			const high = u8[src + lengthBytes - 4] | u8[src + lengthBytes - 3] << 8 | u8[src + lengthBytes - 2] << 16 | u8[src + lengthBytes - 1] << 24;
			let rest = lengthBytes - 4;
			let low = 0;
			const two = (end & 7) === 0 && rest >= 4;
			if (two) {
				rest -= 4;
				low = u8[src + rest] | u8[src + rest + 1] << 8 | u8[src + rest + 2] << 16 | u8[src + rest + 3] << 24;
			}
			if (rest <= 32 && ((dst | src | rest) & 3) === 0) copyWords(i32, dst / 4, src / 4, rest / 4);
			else u8.copyWithin(dst, src, src + rest);
			const word = end / 4 - 1;
			if (storesAreOrdered) {
				if (two) i32[word - 1] = low;
				i32[word] = high;
			} else {
				if (two) Atomics.store(i32, word - 1, low);
				Atomics.store(i32, word, high);
			}
		} else if ((end & 1) === 0 && lengthBytes >= 2) {
			const tail = u8[src + lengthBytes - 2] | u8[src + lengthBytes - 1] << 8;
			if (lengthBytes > 2) u8.copyWithin(dst, src, src + lengthBytes - 2);
			if (storesAreOrdered) i16[end / 2 - 1] = tail;
			else Atomics.store(i16, end / 2 - 1, tail);
		} else {
			const tail = u8[src + lengthBytes - 1];
			if (lengthBytes > 1) u8.copyWithin(dst, src, src + lengthBytes - 1);
			if (storesAreOrdered) u8[end - 1] = tail;
			else Atomics.store(u8, end - 1, tail);
		}
	};
}
function words(u8) {
	if ((u8.byteOffset & 7) !== 0) throw new RangeError(`the bytes must start at a multiple of 8 in their buffer, not at ${u8.byteOffset}`);
	return new Int32Array(u8.buffer, u8.byteOffset, Math.floor(u8.byteLength / 4));
}
function copyWords(i32, dst, src, count) {
	if (dst <= src) for (let i = 0; i < count; i++) i32[dst + i] = i32[src + i];
	else for (let i = count - 1; i >= 0; i--) i32[dst + i] = i32[src + i];
}
function instance(u8, wasm, storesAreOrdered) {
	if (u8.buffer !== wasm.buffer || u8.byteOffset !== 0) throw new RangeError("the bytes must be a view of the whole WebAssembly memory");
	const bytes = copyModule({
		shared: !(wasm.buffer instanceof ArrayBuffer),
		minPages: 0,
		maxPages: 65536,
		storesAreOrdered
	});
	const module = new WebAssembly.Module(bytes);
	return new WebAssembly.Instance(module, { m: { m: wasm } }).exports;
}
/** A whole number, seven bits a byte, low ones first: LEB128. */
function unsigned(value) {
	const low = value & 127;
	return value < 128 ? [low] : [low | 128, ...unsigned(value >>> 7)];
}
/** The same with a sign, for constants. */
function signed(value) {
	if (value >= -64 && value < 64) return [value & 127];
	return [value & 127 | 128, ...signed(value >> 7)];
}
function text$1(value) {
	return [...unsigned(value.length), ...Buffer.from(value, "latin1")];
}
function vector(items) {
	return [...unsigned(items.length), ...items.flat()];
}
function sized(bytes) {
	return [...unsigned(bytes.length), ...bytes];
}
const section = {
	type: 1,
	import: 2,
	function: 3,
	export: 7,
	code: 10
};
const i32Type = 127;
const i64Type = 126;
/** Instructions, by their names in the WebAssembly specification. */
const get = (local) => [32, local];
const set = (local) => [33, local];
const constant = (value) => [65, ...signed(value)];
const add = [106];
const sub = [107];
const and = [113];
const or = [114];
const eqz = [69];
const ltUnsigned = [73];
const ifThen = [4, 64];
const end = [11];
const returnNow = [15];
const memoryCopy = [
	252,
	10,
	0,
	0
];
/** Loads, stores and atomic stores by the size of the word; an atomic one has a prefix and must state its alignment. */
const access = {
	1: {
		load: [
			45,
			0,
			0
		],
		store: [
			58,
			0,
			0
		],
		atomicStore: [
			254,
			25,
			0,
			0
		]
	},
	2: {
		load: [
			47,
			0,
			0
		],
		store: [
			59,
			0,
			0
		],
		atomicStore: [
			254,
			26,
			1,
			0
		]
	},
	4: {
		load: [
			40,
			0,
			0
		],
		store: [
			54,
			0,
			0
		],
		atomicStore: [
			254,
			23,
			2,
			0
		]
	},
	8: {
		load: [
			41,
			0,
			0
		],
		store: [
			55,
			0,
			0
		],
		atomicStore: [
			254,
			24,
			3,
			0
		]
	}
};
/**
* The bytes of a module that imports the memory `m.m` and exports
*
*     copy(dst, src, length)           memory.copy
*     copyOrdered(dst, src, length)    tail = load(src + length - n); memory.copy(dst, src, length - n);
*                                      store(dst + length - n, tail)      n = 8, 4, 2 or 1
*/
function copyModule(options) {
	const [dst, src, length, tail32, tail64] = [
		0,
		1,
		2,
		3,
		4
	];
	const copy = [
		...get(dst),
		...get(src),
		...get(length),
		...memoryCopy
	];
	/** What moves the tail of n bytes: if the destination ends at a multiple of n, and n bytes are there. */
	const withTail = (n) => {
		const tail = n === 8 ? tail64 : tail32;
		const rest = [
			...get(length),
			...constant(n),
			...sub
		];
		const { load, store, atomicStore } = access[n];
		return [
			...[
				...get(src),
				...rest,
				...add,
				...load,
				...set(tail)
			],
			...[...rest, ...set(length)],
			...[
				...get(length),
				...ifThen,
				...copy,
				...end
			],
			...[
				...get(dst),
				...get(length),
				...add,
				...get(tail),
				...options.storesAreOrdered ? store : atomicStore
			],
			...returnNow
		];
	};
	const ifFits = (n) => [
		...[
			...get(dst),
			...get(length),
			...add,
			...constant(n - 1),
			...and
		],
		...[
			...get(length),
			...constant(n),
			...ltUnsigned,
			...or,
			...eqz
		],
		...[
			...ifThen,
			...withTail(n),
			...end
		]
	];
	const copyOrdered = [...[
		...get(length),
		...eqz,
		...ifThen,
		...returnNow,
		...end
	], ...[
		...ifFits(8),
		...ifFits(4),
		...ifFits(2),
		...withTail(1)
	]];
	const limits = options.shared ? [
		3,
		...unsigned(options.minPages),
		...unsigned(options.maxPages)
	] : [0, ...unsigned(options.minPages)];
	const locals = vector([[1, i32Type], [1, i64Type]]);
	return Uint8Array.from([
		...[
			0,
			97,
			115,
			109,
			1,
			0,
			0,
			0
		],
		...[section.type, ...sized(vector([[
			96,
			...vector([
				[i32Type],
				[i32Type],
				[i32Type]
			]),
			0
		]]))],
		...[section.import, ...sized(vector([[
			...text$1("m"),
			...text$1("m"),
			2,
			...limits
		]]))],
		...[section.function, ...sized(vector([[0], [0]]))],
		...[section.export, ...sized(vector([[
			...text$1("copy"),
			0,
			0
		], [
			...text$1("copyOrdered"),
			0,
			1
		]]))],
		...[section.code, ...sized(vector([sized([
			0,
			...copy,
			...end
		]), sized([
			...locals,
			...copyOrdered,
			...end
		])]))]
	]);
}
// src/memory/process-memory.ts
/** Below so many bytes of pages there is no use in trying less. */
const leastHeapBytes = 8 << 20;
function newProcessMemory({ staticBytes, sizeBytes }) {
	const least = Math.min(sizeBytes, segmentBytes$2(staticBytes, leastHeapBytes));
	const make = [(bytes) => {
		const pages = Math.floor(bytes / 65536);
		return new WebAssembly.Memory({
			initial: pages,
			maximum: pages,
			shared: true
		});
	}, (bytes) => new SharedArrayBuffer(bytes)];
	for (const attempt of make) for (let bytes = sizeBytes;; bytes = Math.max(Math.floor(bytes / 2 / granuleBytes) * granuleBytes, least)) {
		try {
			return attempt(bytes);
		} catch {}
		if (bytes === least) break;
	}
	throw new SegmentError("ENOMEM", `there is no address space of ${Math.ceil(least / 2 ** 20)} to ${Math.ceil(sizeBytes / 2 ** 20)} MiB for what adapters share: raise \`ulimit -v\`, or set VERBENA_SHM_MIB to less (${segmentSetting()})`);
}
function processBacking(u8, wasm) {
	const memory = wasm === void 0 || !nativeAvailable ? null : wasm.buffer;
	let address = 0;
	return {
		commit() {},
		release(byteOffset, lengthBytes) {
			if (memory === null) return false;
			if (address === 0) address = addressOf$1(memory);
			return releaseWasm(address, u8, byteOffset, lengthBytes);
		}
	};
}
function sharedBacking(buffer) {
	return {
		commit(byteOffset, lengthBytes) {
			commitShared(buffer, byteOffset, lengthBytes);
		},
		release(byteOffset, lengthBytes) {
			return releaseShared$1(buffer, byteOffset, lengthBytes);
		}
	};
}
// src/memory/segment-files.ts
/** The files of named segments: their names, and when a name is taken away. */
/** Creating or unlinking a segment never takes this long; after that its creator is presumed dead. */
const transientMs = 2e3;
/** What the names of segments begin with under /dev/shm. */
const segmentFilePrefix = "verbena-";
/** File name under /dev/shm of a named segment; `GROUP/NAME` is one of a group of users, in the folder made for it. */
function segmentFile(name) {
	const slash = name.indexOf("/") + 1;
	return name.slice(0, slash) + segmentFilePrefix + name.slice(slash);
}
/** Takes the name away from what is no segment: a file of this user, under a name that only segments have. */
function replaceDamaged(file, inode) {
	unlinkShared(file, inode);
	return null;
}
/** Whether nobody uses the file; asked for a while, since somebody else may be asking, and be kept waiting by the system. */
function everUnused(buffer) {
	for (let attempt = 0; attempt < 100; attempt++) {
		if (isUnused(buffer)) return true;
		sleepMs(1);
	}
	return false;
}
/** Takes the name of a segment away that nobody uses; false if somebody does, or somebody else takes it away. */
function retire$1(i32, file, inode) {
	const { ready, retired } = headerState;
	if (anyoneAlive(i32) || Atomics.compareExchange(i32, Header.state, ready, retired) !== ready) return false;
	if (!anyoneAlive(i32)) return unlinkShared(file, inode);
	Atomics.compareExchange(i32, Header.state, retired, ready);
	return false;
}
/** Waits until a segment is not in this state any more, or has lost its name; false if that takes too long. */
function settles(i32, file, inode, transient) {
	for (let waited = 0; Atomics.load(i32, Header.state) === transient; waited++) {
		if (inodeOf(file) !== inode) return true;
		if (waited === transientMs) return false;
		sleepMs(1);
	}
	return true;
}
// src/memory/segment.ts
/**
* A segment is one address space that several threads or processes share: the memory in which queues, tables and
* message buffers live. An address on the data path is a byte offset into it.
*
* segment-layout.ts says what is where in it, attachments.ts which threads use it, pages.ts how its heap is handed out.
*
* Of a named segment only what is in use takes memory: it is a sparse file whose pages are asked for before they are touched
* (`commit`, `allocate`). Where /dev/shm has no more, that is an error with code ENOMEM and never a signal.
*
* Within one process it is a shared WebAssembly memory, because `memory.copy` is four times faster than copying on a
* SharedArrayBuffer in V8 (see copy.ts), and threads wait with `Atomics.wait`. Between processes it is a mapping of
* POSIX shared memory, and threads wait on futexes.
*
* Locks are words that hold the attachment number and generation of their owner, so that a waiter can see that the owner died and
* take the lock over. Whatever a lock protects is written in an order that leaves it usable at every step.
*/
/** Of the environment data in which threads find the memory of their process. */
const environmentKey = "verbena.segment";
var Segment = class Segment extends Attachments {
	/** POSIX name, null for the segment of this process. */
	name;
	/** Of the file that the name stood for, 0 for the segment of this process. */
	inode;
	buffer;
	u8;
	b64;
	sizeBytes;
	/** Byte offset of the tables of the layer above. */
	staticStart;
	heapStart;
	/** Copies bytes within the segment; overlapping ranges behave as with memmove. */
	copy;
	/** The same, and the last byte becomes visible after all others. */
	copyOrdered;
	#operation;
	#shared;
	#pages;
	/** This thread has given its attachment back. */
	#left = false;
	/** `membarrier` reaches this process, and `Header.freeEntry` says that it is needed. */
	#registered = false;
	#barrierScope;
	#parking;
	constructor(name, inode, buffer, wasm) {
		super(new Int32Array(buffer), new Float64Array(buffer));
		this.name = name;
		this.inode = inode;
		this.buffer = buffer;
		this.#shared = buffer instanceof SharedArrayBuffer;
		this.#barrierScope = this.#shared ? "process" : "processes";
		this.u8 = new Uint8Array(buffer);
		this.b64 = new BigInt64Array(buffer);
		this.copy = makeCopier(this.u8, wasm);
		this.copyOrdered = makeOrderedCopier(this.u8, wasm);
		const i32 = this.i32;
		this.sizeBytes = i32[Header.pages] * pageBytes;
		this.staticStart = i32[Header.staticStart];
		this.heapStart = i32[Header.heapStart];
		this.#pages = new Pages(i32, pagesLayout(i32), this.#shared ? processBacking(this.u8, wasm) : sharedBacking(buffer));
		this.#operation = attachmentWord(this.me) + Attachment.operation;
	}
	/**
	* Makes the memory that all threads of this process share, unless a parent thread has: workers started from now on
	* inherit it.
	*/
	static prepareProcess(options) {
		const inherited = getEnvironmentData(environmentKey);
		if (typeof inherited === "object") return inherited;
		const memory = newProcessMemory(options);
		const buffer = memory instanceof SharedArrayBuffer ? memory : memory.buffer;
		formatSegment(new Int32Array(buffer), buffer.byteLength, options.staticBytes);
		setEnvironmentData(environmentKey, memory);
		return memory;
	}
	/** Whether a thread of this process has used the segment that all of them share. */
	static isUsedInProcess() {
		const memory = getEnvironmentData(environmentKey);
		if (typeof memory !== "object") return false;
		return new Int32Array(memory instanceof SharedArrayBuffer ? memory : memory.buffer)[Header.attachmentsHigh] > 0;
	}
	/** The segment that all threads of this process share. */
	static ofProcess(options) {
		const memory = Segment.prepareProcess(options);
		const plain = memory instanceof SharedArrayBuffer;
		const segment = new Segment(null, 0, plain ? memory : memory.buffer, plain ? void 0 : memory);
		segment.#endWhenStopped();
		return segment;
	}
	/**
	* Opens or creates the named segment; a stale one, whose processes are all gone, is replaced. Throws `SegmentError`, and
	* `NativeError` where the file cannot be opened or is not to be trusted: ENOENT if it is only to be opened and nobody uses it.
	*/
	static named(name, options, mode = "open-or-create") {
		if (!nativeAvailable) throw new SegmentError("EOPNOTSUPP", `a segment between processes needs the koffi package on Linux: ${nativeReason}`);
		for (let attempt = 0; attempt < 100; attempt++) {
			const mapping = mapShared(segmentFile(name), options.sizeBytes, mode);
			let segment = null;
			try {
				segment = mapping.created ? Segment.#create(name, mapping, options) : Segment.#join(name, mapping, options);
			} finally {
				if (segment === null) unmap(mapping.buffer);
			}
			if (segment !== null) {
				segment.#endWhenStopped();
				return segment;
			}
			sleepMs(1);
		}
		throw new SegmentError("ENXIO", `segment '${name}' could not be opened: other processes keep replacing it`);
	}
	/** Null if another process took the name away meanwhile. */
	static #create(name, { buffer, inode }, options) {
		const { fresh, ready } = headerState;
		const i32 = new Int32Array(buffer);
		const staticStart = staticStartOf(buffer.byteLength);
		try {
			commitShared(buffer, 0, staticStart);
			formatSegment(i32, buffer.byteLength, options.staticBytes);
			const pages = new Pages(i32, pagesLayout(i32), sharedBacking(buffer));
			pages.commit(0, staticStart / pageBytes);
			for (const [offset, bytes] of options.committed ?? [[0, options.staticBytes]]) if (bytes > 0) pages.commit(...pagesFor(staticStart + offset, bytes));
		} catch (error) {
			unlinkShared(segmentFile(name), inode);
			throw outOfMemory(error, `segment '${name}' could not be created`);
		}
		if (!markUsed(buffer)) return null;
		const segment = new Segment(name, inode, buffer, void 0);
		return Atomics.compareExchange(i32, Header.state, fresh, ready) === fresh ? segment : null;
	}
	/** Null if the name has to be opened again: then this is not, or will not be, what the name stands for. */
	static #join(name, { buffer, inode, sizeBytes }, options) {
		const file = segmentFile(name);
		const { fresh, ready, retired } = headerState;
		const i32 = wordsOf(buffer, sizeBytes);
		if (i32 === null) return replaceDamaged(file, inode);
		for (const transient of [fresh, retired]) {
			if (settles(i32, file, inode, transient)) continue;
			if (transient === retired || Atomics.compareExchange(i32, Header.state, fresh, retired) === fresh) unlinkShared(file, inode);
			return null;
		}
		const state = Atomics.load(i32, Header.state);
		if (state === fresh || state === retired) return null;
		if (state !== ready || i32[Header.magic] !== 1112692273) return replaceDamaged(file, inode);
		const [found, own] = [[i32[Header.version], i32[Header.staticBytes]], [8, options.staticBytes]];
		const isOther = found.some((value, i) => value !== own[i]);
		if (!isOther && !wellFormed(i32, sizeBytes)) return replaceDamaged(file, inode);
		if (isOther || usedElsewhere(i32)) {
			if (!everUnused(buffer)) throw isOther ? ofOtherVersion(name, file, found, own) : ofOtherContainer(name);
			if (Atomics.compareExchange(i32, Header.state, ready, retired) === ready) unlinkShared(file, inode);
			return null;
		}
		if (!anyoneAlive(i32)) {
			retire$1(i32, file, inode);
			return null;
		}
		if (!markUsed(buffer)) return null;
		const segment = new Segment(name, inode, buffer, void 0);
		if (Atomics.load(i32, Header.state) === ready) return segment;
		Atomics.store(i32, attachmentWord(segment.me) + Attachment.state, attachmentState.free);
		return null;
	}
	/** Removes a named segment whose users are all gone; true if it did. */
	static removeStale(name) {
		const { buffer, inode, sizeBytes } = mapHead(segmentFile(name), () => headBytes$1);
		try {
			const i32 = wordsOf(buffer, sizeBytes);
			return i32 !== null && isOurs(i32, sizeBytes) && !usedElsewhere(i32) && retire$1(i32, segmentFile(name), inode);
		} finally {
			unmap(buffer);
		}
	}
	/**
	* Reads the first `headBytes` of the tables of a named segment that is in use, without joining it; null if there is none with tables
	* of `staticBytes`. `tables` is their first word.
	*/
	static peek(name, staticBytes, headBytes, read) {
		const { buffer, sizeBytes } = mapHead(segmentFile(name), (size) => staticStartOf(size) + headBytes);
		try {
			const i32 = wordsOf(buffer, sizeBytes);
			if (i32 === null || !isOurs(i32, sizeBytes) || i32[Header.staticBytes] !== staticBytes) return null;
			if (usedElsewhere(i32) || !anyoneAlive(i32)) return null;
			return read(i32, i32[Header.staticStart] / 4);
		} finally {
			unmap(buffer);
		}
	}
	/** Where this thread stops for good it counts as dead. */
	#endWhenStopped() {
		const { i32, lockValue } = this;
		const a = attachmentWord(this.me);
		whenStopped(() => {
			if (Atomics.load(i32, a + Attachment.state) === lockValue) Atomics.store(i32, a + Attachment.stopped, 1);
		});
	}
	/**
	* Runs no further if another thread has taken over what this one has: the main thread of a process that ends does so
	* with all threads of the process, which run on for a moment. Under a lock, since they are taken over under one.
	*/
	stopIfTakenOver(lock) {
		if (isMainThread || this.#left || Atomics.load(this.i32, attachmentWord(this.me) + Attachment.state) === this.lockValue) return;
		this.unlock(lock);
		stopForGood();
	}
	/** Gives an attachment's number and memory back. The layer above has cleaned its tables before. */
	release(id) {
		const { i32, name } = this;
		if (id === this.me) this.#left = true;
		this.#freeRunsOf(id);
		this.#endPollRequestsOf(id);
		Atomics.store(i32, attachmentWord(id) + Attachment.state, attachmentState.free);
		if (name !== null) retire$1(i32, segmentFile(name), this.inode);
	}
	/**
	* Whether an operation may read the epoch right after entering, without a full barrier of its own: not on processors that
	* reorder stores. Threads of one process are registered together; in a named segment each process registers before it
	* enters so, since barriers reach it only then, and one that cannot register keeps its own barrier.
	*/
	entersFreely() {
		const i32 = this.i32;
		if (this.#registered || this.#shared && Atomics.load(i32, Header.freeEntry) === 1) return true;
		if (!processorOrders || !registerMembarrier(this.#barrierScope)) return false;
		this.#registered = true;
		Atomics.store(i32, Header.freeEntry, 1);
		return true;
	}
	/** The word to compare; it changes with every change of an object. */
	get epochWord() {
		return Header.epoch;
	}
	/** The word to make odd on entering and even on leaving, for code that writes `enter` and `leave` out. */
	get operationWord() {
		return this.#operation;
	}
	/** Makes everything that threads remember of shared objects void. */
	bumpEpoch() {
		Atomics.add(this.i32, Header.epoch, 1);
	}
	/** Marks that this thread is in an operation; a full barrier (taking a lock) must follow, unless `entersFreely`. */
	enter() {
		const i32 = this.i32;
		if (processorOrders) i32[this.#operation] = i32[this.#operation] + 1 | 0;
		else Atomics.add(i32, this.#operation, 1);
	}
	/** The same where no lock follows. */
	enterNow() {
		Atomics.add(this.i32, this.#operation, 1);
	}
	leave() {
		const i32 = this.i32;
		if (processorOrders) i32[this.#operation] = i32[this.#operation] + 1 | 0;
		else Atomics.add(i32, this.#operation, 1);
	}
	/** Waits until every operation that was in progress when it was called has ended, as RCU's synchronize does. */
	quiesce() {
		const i32 = this.i32;
		if (Atomics.load(i32, Header.freeEntry) === 1 && i32[Header.attachmentsHigh] > 1 && !membarrier(this.#barrierScope)) sleepMs(1);
		for (let id = 1; id <= i32[Header.attachmentsHigh]; id++) {
			const a = attachmentWord(id);
			if (id === this.me || !isUse(i32[a + Attachment.state])) continue;
			const sequence = Atomics.load(i32, a + Attachment.operation);
			if ((sequence & 1) === 0) continue;
			for (let spins = 0; Atomics.load(i32, a + Attachment.operation) === sequence; spins++) if (spins > 2e3) {
				if (spins % 64 === 0 && !this.attachmentAlive(id)) break;
				sleepMs(.05);
			}
		}
	}
	lock(word) {
		if (Atomics.compareExchange(this.i32, word, 0, this.lockValue) !== 0) this.#lockSlow(word);
	}
	unlock(word) {
		if (processorOrders) this.i32[word] = 0;
		else Atomics.store(this.i32, word, 0);
	}
	/** Reads a word before everything read after it. */
	observe(word) {
		return processorOrders ? this.i32[word] : Atomics.load(this.i32, word);
	}
	/** Stores a word after everything written before it. */
	publish(word, value) {
		if (processorOrders) this.i32[word] = value;
		else Atomics.store(this.i32, word, value);
	}
	#lockSlow(word) {
		const { i32, lockValue } = this;
		for (let spins = 0; spins < 4e3; spins++) if (i32[word] === 0 && Atomics.compareExchange(i32, word, 0, lockValue) === 0) return;
		for (;;) {
			const owner = Atomics.compareExchange(i32, word, 0, lockValue);
			if (owner === 0) return;
			if (owner === lockValue) throw new SegmentError("ETIMEDOUT", `lock ${word} is held by this thread already: an operation was interrupted in its middle`);
			if (!this.ownerAlive(owner) && Atomics.compareExchange(i32, word, owner, lockValue) === owner) return;
			sleepMs(.05);
		}
	}
	/** Takes a lock away from a thread that ended while it had it. */
	releaseDead(word) {
		const owner = Atomics.load(this.i32, word);
		if (owner !== 0 && !this.ownerAlive(owner)) Atomics.compareExchange(this.i32, word, owner, 0);
	}
	/** Takes a lock over from a thread that ended while it had it; whether this thread has it now. */
	takeFromDead(word) {
		const owner = Atomics.load(this.i32, word);
		if (owner === 0 || owner === this.lockValue || this.ownerAlive(owner)) return false;
		return Atomics.compareExchange(this.i32, word, owner, this.lockValue) === owner;
	}
	/** The lock for creating, changing and destroying objects. */
	get controlLock() {
		return Header.controlLock;
	}
	/** Blocks while the word has the expected value, at most `timeoutMs`. */
	wait(word, expected, timeoutMs) {
		if (this.#shared) Atomics.wait(this.i32, word, expected, timeoutMs);
		else futexWait(this.buffer, word * 4, expected, timeoutMs === Number.POSITIVE_INFINITY ? 36e11 : timeoutMs * 1e6);
	}
	/** The same without blocking; the promise keeps the process alive while it is pending. */
	async waitAsync(word, expected, timeoutMs) {
		const ms = Math.min(timeoutMs, 100);
		if (this.#shared) {
			const result = Atomics.waitAsync(this.i32, word, expected, ms);
			if (!result.async) return;
			const hold = setInterval(() => {}, 1e3);
			try {
				await result.value;
			} finally {
				clearInterval(hold);
			}
		} else await futexWaitAsync(this.buffer, word * 4, expected, ms * 1e6);
	}
	/** How this thread waits, and others wake it. */
	get parking() {
		this.#parking ??= new Parking(this);
		return this.#parking;
	}
	/** Wakes the thread with this attachment if it waits by its `parking`. What it waits for must have changed before. */
	wake(attachment) {
		this.parking.wake(attachment);
	}
	/** Wakes the thread that holds a lock. */
	wakeOwner(lock) {
		const owner = Atomics.load(this.i32, lock);
		if (owner !== 0) this.wake(owner & ownerMask);
	}
	/**
	* Ends what threads of this process have asked the kernel to tell them of sockets, in this segment, and wakes them to ask anew. Other
	* processes do that for their own descriptors of the same sockets.
	*/
	endPollRequests() {
		for (let id = 1; id <= this.i32[Header.attachmentsHigh]; id++) if (this.#endPollRequestsOf(id)) this.wake(id);
	}
	/** Whether there were any. */
	#endPollRequestsOf(id) {
		const context = pollContextOf(this.f64, id);
		if (context.f64[context.index] === 0 || !this.isOwn(id)) return false;
		destroyPollContext(context);
		return true;
	}
	notify(word) {
		if (this.#shared) Atomics.notify(this.i32, word);
		else futexWake(this.buffer, word * 4, 2147483647);
	}
	/** Allocates whole pages, zeroed; the byte offset. Throws `SegmentError` (ENOMEM). */
	allocate(bytes, owner = this.me) {
		const pages = Math.max(1, Math.ceil(bytes / pageBytes));
		if (pages > this.i32[Header.pages]) throw new SegmentError("ENOMEM", `${bytes} bytes are more than one allocation can have`);
		const dirty = [];
		let at = -1;
		this.lock(Header.pagesLock);
		try {
			at = this.#pages.allocate(pages, owner, dirty);
		} catch (error) {
			throw outOfMemory(error, `${pages * pageBytes} bytes could not be allocated`);
		} finally {
			this.unlock(Header.pagesLock);
		}
		if (at < 0) throw new SegmentError("ENOMEM", `no ${pages * pageBytes} contiguous bytes left in the ${this.sizeBytes - this.heapStart >> 20} MiB of the segment; free something or set VERBENA_SHM_MIB to more (${segmentSetting()})`);
		for (let i = 0; i < dirty.length; i += 2) this.b64.fill(0n, dirty[i] * pageBytes / 8, dirty[i + 1] * pageBytes / 8);
		return at * pageBytes;
	}
	free(byteOffset) {
		if (byteOffset % 4096 !== 0) return;
		this.lock(Header.pagesLock);
		try {
			this.#pages.free(byteOffset / pageBytes);
		} finally {
			this.unlock(Header.pagesLock);
		}
	}
	/** Bytes of the run that starts here, 0 if none does. */
	allocatedBytes(byteOffset) {
		return byteOffset % 4096 === 0 ? this.#pages.length(byteOffset / pageBytes) * pageBytes : 0;
	}
	/**
	* Sees to it that a part of the tables has memory, before something is written to it for the first time. Throws
	* `SegmentError` (ENOMEM).
	*/
	commit(byteOffset, lengthBytes) {
		if (this.#shared) return;
		const [first, end] = pagesFor(byteOffset, lengthBytes);
		if (this.#pages.committed(first, end)) return;
		this.lock(Header.pagesLock);
		try {
			this.#pages.commit(first, end);
		} catch (error) {
			throw outOfMemory(error, "a table cannot grow");
		} finally {
			this.unlock(Header.pagesLock);
		}
	}
	#freeRunsOf(id) {
		this.lock(Header.pagesLock);
		try {
			this.#pages.freeAllOf(id);
		} finally {
			this.unlock(Header.pagesLock);
		}
	}
};
// src/verbs/provider/constants.ts
/**
* The names and numbers of libibverbs (rdma-core, verbs.h), in TypeScript's casing: `IBV_WC_RNR_RETRY_EXC_ERR` is
* `WcStatus.RnrRetryExcErr`. Each is a frozen object of numbers with a type of the same name.
*/
/** `GSI` is QP 1, over which management datagrams travel; in libibverbs only the kernel can make one (`IB_QPT_GSI`). */
const QpType = {
	GSI: 1,
	RC: 2,
	UC: 3,
	UD: 4
};
/** `ibv_qp_state`. */
const QpState = {
	Reset: 0,
	Init: 1,
	Rtr: 2,
	Rts: 3,
	Sqd: 4,
	Sqe: 5,
	Err: 6
};
/** Operations of a send work request (`ibv_wr_opcode`). */
const Opcode = {
	Write: 0,
	WriteWithImm: 1,
	Send: 2,
	SendWithImm: 3,
	Read: 4,
	AtomicCmpAndSwp: 5,
	AtomicFetchAndAdd: 6,
	LocalInv: 7,
	BindMw: 8,
	SendWithInv: 9,
	Flush: 14,
	AtomicWrite: 15
};
/** `ibv_send_flags`. */
const SendFlag = {
	Fence: 1,
	Signaled: 2,
	Solicited: 4,
	Inline: 8
};
/** `ibv_access_flags`. */
const Access = {
	LocalWrite: 1,
	RemoteWrite: 2,
	RemoteRead: 4,
	RemoteAtomic: 8,
	MwBind: 16,
	ZeroBased: 32,
	OnDemand: 64,
	HugeTlb: 128,
	FlushGlobal: 256,
	FlushPersistent: 512,
	RelaxedOrdering: 1048576
};
/** `ibv_rereg_mr_flags`. */
const ReregFlag = {
	ChangeTranslation: 1,
	ChangePd: 2,
	ChangeAccess: 4
};
/** `ibv_mw_type`. */
const MwType = {
	Type1: 1,
	Type2: 2
};
/** Placement types of FLUSH (InfiniBand 1.5, Annex A19): visible to all, or persistent. */
const FlushPlacement = {
	Global: 1,
	Persistent: 2
};
/** What FLUSH is for: a range, or the whole memory region. */
const FlushSelectivity = {
	Range: 0,
	Mr: 1
};
/** `ibv_wc_status`. */
const WcStatus = {
	Success: 0,
	LocLenErr: 1,
	LocQpOpErr: 2,
	LocEecOpErr: 3,
	LocProtErr: 4,
	WrFlushErr: 5,
	MwBindErr: 6,
	BadRespErr: 7,
	LocAccessErr: 8,
	RemInvReqErr: 9,
	RemAccessErr: 10,
	RemOpErr: 11,
	RetryExcErr: 12,
	RnrRetryExcErr: 13,
	LocRddViolErr: 14,
	RemInvRdReqErr: 15,
	RemAbortErr: 16,
	InvEecnErr: 17,
	InvEecStateErr: 18,
	FatalErr: 19,
	RespTimeoutErr: 20,
	GeneralErr: 21
};
/** `ibv_wc_opcode`. */
const WcOpcode = {
	Send: 0,
	Write: 1,
	Read: 2,
	CompSwap: 3,
	FetchAdd: 4,
	BindMw: 5,
	LocalInv: 6,
	Flush: 8,
	AtomicWrite: 9,
	Recv: 128,
	RecvRdmaWithImm: 129
};
/** `ibv_wc_flags`. */
const WcFlag = {
	Grh: 1,
	WithImm: 2,
	WithInv: 8
};
/** `ibv_event_type`. */
const EventType = {
	CqErr: 0,
	QpFatal: 1,
	QpReqErr: 2,
	QpAccessErr: 3,
	CommEst: 4,
	SqDrained: 5,
	PathMig: 6,
	PathMigErr: 7,
	DeviceFatal: 8,
	PortActive: 9,
	PortErr: 10,
	LidChange: 11,
	PkeyChange: 12,
	SmChange: 13,
	SrqErr: 14,
	SrqLimitReached: 15,
	QpLastWqeReached: 16,
	ClientReregister: 17,
	GidChange: 18
};
/** `ibv_port_state`. */
const PortState = {
	Nop: 0,
	Down: 1,
	Init: 2,
	Armed: 3,
	Active: 4,
	ActiveDefer: 5
};
/** `ibv_gid_type`. */
const GidType = {
	Ib: 0,
	RoceV1: 1,
	RoceV2: 2
};
/** Link layer of a port (`IBV_LINK_LAYER_…`). */
const LinkLayer = {
	InfiniBand: 1,
	Ethernet: 2
};
/** Names of the values of each table, made when one is asked for. */
const names$1 = /* @__PURE__ */ new Map();
/** The key of `value` in one of the objects above, as in `nameOf(QpState, 3) === 'Rts'`; the number itself if there is none. */
function nameOf$2(table, value) {
	let map = names$1.get(table);
	if (!map) {
		map = new Map(Object.entries(table).map(([name, number]) => [number, name]));
		names$1.set(table, map);
	}
	return map.get(value) ?? String(value);
}
const statusTexts = [
	"success",
	"local length error: the message does not fit the request, the receive buffer or the MTU",
	"local QP operation error: this QP type cannot execute the operation",
	"local EE context operation error",
	"local protection error: a scatter/gather element has a wrong lkey, protection domain, bounds or access",
	"work request flushed: the QP is in the error state",
	"memory window bind error",
	"bad response",
	"local access error",
	"remote invalid request error: the responder rejected the operation, its length or its alignment",
	"remote access error: rkey, bounds or permission rejected by the responder",
	"remote operation error: the responder could not complete the operation (look at its own completions)",
	"transport retry counter exceeded: the peer does not answer",
	"RNR retry counter exceeded: the peer had no receive work request posted",
	"local RDD violation error",
	"remote invalid RD request",
	"remote aborted error",
	"invalid EE context number",
	"invalid EE context state",
	"fatal error",
	"response timeout error",
	"general error"
];
/** What a completion status means, in words; `ibv_wc_status_str`. */
function wcStatusText(status) {
	return statusTexts[status] ?? `unknown status ${status}`;
}
/** The path MTUs that there are, bytes. */
const PathMtus = [
	256,
	512,
	1024,
	2048,
	4096
];
/** The default P_Key, with full membership: entry 0 of the table. */
const defaultPkey = 65535;
/** Destination QP number of multicast messages. */
const multicastQpn = 16777215;
// src/verbs/provider/errors.ts
/**
* Misuse of the verbs throws a `VerbsError`: a stable code (the errno that libibverbs returns), the verb, what was
* wrong and what to do. What the network or the peer did never throws: it is a completion status or an event.
*/
/** What the codes of errors mean. */
const verbsErrorCodes = {
	EINVAL: "an argument or attribute is wrong",
	ENOMEM: "a queue is full or a limit of the device is reached",
	EBUSY: "other objects still use this one",
	EPERM: "the operation is not permitted",
	ENODEV: "there is no such device",
	ENODATA: "a table has no such entry",
	EOPNOTSUPP: "the device does not support this",
	EADDRINUSE: "another socket has the address and port",
	EACCES: "the system does not allow it",
	EBADF: "the object is closed",
	ENOSPC: "no shared memory is left",
	EMFILE: "too many files are open",
	ENXIO: "the shared segment is not usable",
	ETIMEDOUT: "another thread holds a lock and does not respond"
};
/** Misuse of a verb; its message says what is wrong and what to do. */
var VerbsError = class extends Error {
	name = "VerbsError";
	/** What kind of error it is; stable. */
	code;
	/** The verb that was called, by its name here: `postSend`, `modify`, … */
	verb;
	/** The first work request of a linked list that was not posted (`bad_wr`). */
	badWr;
	/** `device-in-use`, with EADDRINUSE of `openDevice`: another process has the adapter, whatever IP port was asked for. */
	reason;
	constructor(code, verb, message) {
		super(`${verb}: ${message} (${code})`);
		this.code = code;
		this.verb = verb;
	}
};
/** Errors of memory and of the system, told by their names: this folder imports nothing that calls the system. */
const systemErrors = ["SegmentError", "NativeError"];
/** What memory or the system said, as an error of `verb`; other errors as they are. */
function asVerbsError$1(error, verb) {
	if (!(error instanceof Error) || !systemErrors.includes(error.name)) return error;
	const { code } = error;
	return new VerbsError(Object.hasOwn(verbsErrorCodes, code) ? code : "ENXIO", verb, error.message);
}
// src/verbs/provider/arguments.ts
/** Checks of what a program gives to a verb. */
/** A value as an error message names it. */
function describe(value) {
	if (typeof value === "bigint") return `${value}n`;
	if (value === null || typeof value !== "object") return String(value);
	return Array.isArray(value) ? "an array" : "an object";
}
/** Throws EINVAL unless `value` is an object. */
function checkObject(verb, name, value) {
	if (typeof value !== "object" || value === null) throw new VerbsError("EINVAL", verb, `${name} must be an object, not ${describe(value)}`);
}
/** Throws EINVAL unless `value` is an integer from `min` to `max`. */
function checkInteger(verb, name, value, min, max) {
	if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) throw new VerbsError("EINVAL", verb, `${name} must be an integer from ${min} to ${max}, not ${describe(value)}`);
}
/** "1 entry", "2 entries". */
function plural(count, one, many = `${one}s`) {
	return `${count} ${count === 1 ? one : many}`;
}
// src/verbs/provider/work-request.ts
/**
* Work requests as objects of one shape, so that posting them is fast. Prepare one with `sendWr` or `recvWr`, post it as
* often as you like and change its fields in between; a literal given to `postSend` is turned into one first.
*/
/** A scatter/gather element: `length` bytes at device address `addr`, in the region with this lkey. */
var ScatterGather = class {
	/** Device address of the first byte. */
	addr;
	/** Bytes. */
	length;
	/** The local key of the region that holds them. */
	lkey;
	constructor(addr, length, lkey) {
		this.addr = addr;
		this.length = length;
		this.lkey = lkey;
	}
};
/** `ibv_recv_wr`, prepared. */
var RecvWorkRequest = class {
	/** Comes back in the completion. */
	wrId;
	/** Where the message goes. */
	sgList;
	/** The next request of a list that is posted together. */
	next = null;
	constructor(wrId, sgList) {
		this.wrId = wrId;
		this.sgList = sgList;
	}
};
/** `ibv_send_wr`, prepared. Fields that its operation does not have keep their neutral value. */
var SendWorkRequest = class {
	/** Comes back in the completion. */
	wrId;
	/** The operation. */
	opcode;
	/** Bits of `SendFlag`. */
	sendFlags;
	/** What is sent, or where a response goes. */
	sgList;
	/** SEND and WRITE with immediate: 32 bits. */
	immData = 0;
	/** SEND with invalidate, LOCAL_INV: the key that ends. */
	invalidateRkey = 0;
	/** Address in the peer's memory region. */
	remoteAddr = 0;
	/** The key of the peer's region or window. */
	rkey = 0;
	/** Atomics: the value to compare with, or to add; 64 bits. */
	compareAdd = 0n;
	/** Compare and swap: the new value; 64 bits. */
	swap = 0n;
	/** UD: the path. */
	ah = null;
	/** UD: the QP number of the destination. */
	remoteQpn = 0;
	/** UD: the destination's Q_Key. */
	remoteQkey = 0;
	/** FLUSH: bytes from remoteAddr. */
	flushLength = 0;
	/** FLUSH: bits of `FlushPlacement`. */
	placement = 0;
	/** FLUSH: of `FlushSelectivity`. */
	selectivity = 0;
	/** BIND_MW: the window's present key. */
	mwRkey = 0;
	/** BIND_MW: the type of the window. */
	mwType = 0;
	/** BIND_MW: the key that the window gets. */
	mwNewRkey = 0;
	/** BIND_MW: the local key of the region. */
	mrLkey = 0;
	/** BIND_MW: first address of the window. */
	bindAddr = 0;
	/** BIND_MW: bytes of the window. */
	bindLength = 0;
	/** BIND_MW: bits of `Access`. */
	bindAccess = 0;
	/** The next request of a list that is posted together. */
	next = null;
	constructor(wrId, opcode, sendFlags, sgList) {
		this.wrId = wrId;
		this.opcode = opcode;
		this.sendFlags = sendFlags;
		this.sgList = sgList;
	}
};
const maxAddress = Number.MAX_SAFE_INTEGER;
function integer(verb, name, value, max) {
	if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > max) throw new VerbsError("EINVAL", verb, `${name} must be an integer from 0 to ${max}, not ${describe(value)}`);
	return value;
}
/** A 32-bit key or immediate: both the signed and the unsigned form of a word are accepted. */
function word$1(verb, name, value) {
	if (typeof value !== "number" || !Number.isInteger(value) || value < -2147483648 || value > 4294967295) throw new VerbsError("EINVAL", verb, `${name} must be a 32-bit integer, not ${describe(value)}`);
	return value;
}
function long$1(verb, name, value) {
	if (typeof value !== "bigint") throw new VerbsError("EINVAL", verb, `${name} must be a bigint of 64 bits, not ${describe(value)}`);
	return BigInt.asUintN(64, value);
}
/** A checked copy of a scatter/gather list. */
function sgesOf(verb, list) {
	if (list === void 0) return [];
	if (!Array.isArray(list)) throw new VerbsError("EINVAL", verb, `sgList must be an array, not ${describe(list)}`);
	return list.map((sge, i) => {
		if (typeof sge !== "object" || sge === null) throw new VerbsError("EINVAL", verb, `sgList[${i}] must be {addr, length, lkey}`);
		return new ScatterGather(integer(verb, `sgList[${i}].addr`, sge.addr, maxAddress), integer(verb, `sgList[${i}].length`, sge.length, 2147483647), word$1(verb, `sgList[${i}].lkey`, sge.lkey));
	});
}
/** Prepares a receive work request, with all that are linked to it. */
function recvWr(init) {
	const verb = "postRecv";
	if (typeof init !== "object" || init === null) throw new VerbsError("EINVAL", verb, `a work request must be an object, not ${describe(init)}`);
	const first = new RecvWorkRequest(integer(verb, "wrId", init.wrId ?? 0, maxAddress), sgesOf(verb, init.sgList));
	let last = first;
	for (let next = init.next; next; next = next.next) {
		if (next instanceof RecvWorkRequest) {
			last.next = next;
			break;
		}
		last.next = new RecvWorkRequest(integer(verb, "wrId", next.wrId ?? 0, maxAddress), sgesOf(verb, next.sgList));
		last = last.next;
	}
	return first;
}
const allFlags = SendFlag.Fence | SendFlag.Signaled | SendFlag.Solicited | SendFlag.Inline;
const opcodes = new Set(Object.values(Opcode));
/** Prepares a send work request, with all that are linked to it; says which field is missing or wrong. */
function sendWr(init) {
	const first = prepare(init);
	let last = first;
	for (let next = init.next; next; next = next.next) {
		if (next instanceof SendWorkRequest) {
			last.next = next;
			break;
		}
		last.next = prepare(next);
		last = last.next;
	}
	return first;
}
function prepare(init) {
	const verb = "postSend";
	if (typeof init !== "object" || init === null) throw new VerbsError("EINVAL", verb, `a work request must be an object, not ${describe(init)}`);
	if (!opcodes.has(init.opcode)) throw new VerbsError("EINVAL", verb, `opcode must be one of Opcode, not ${describe(init.opcode)}`);
	const flags = integer(verb, "sendFlags", init.sendFlags ?? 0, 65535);
	if ((flags & ~allFlags) !== 0) throw new VerbsError("EINVAL", verb, `sendFlags has unknown bits 0x${(flags & ~allFlags).toString(16)}`);
	const wr = new SendWorkRequest(integer(verb, "wrId", init.wrId ?? 0, maxAddress), init.opcode, flags, sgesOf(verb, init.sgList));
	const fields = init;
	switch (init.opcode) {
		case Opcode.SendWithImm:
		case Opcode.WriteWithImm:
			wr.immData = word$1(verb, "immData", fields.immData);
			break;
		case Opcode.SendWithInv:
		case Opcode.LocalInv:
			wr.invalidateRkey = word$1(verb, "invalidateRkey", fields.invalidateRkey);
			break;
		case Opcode.AtomicCmpAndSwp:
			wr.swap = long$1(verb, "swap", fields.swap);
			wr.compareAdd = long$1(verb, "compareAdd", fields.compareAdd);
			break;
		case Opcode.AtomicFetchAndAdd:
			wr.compareAdd = long$1(verb, "compareAdd", fields.compareAdd);
			break;
		case Opcode.Flush:
			wr.flushLength = integer(verb, "flushLength", fields.flushLength, 4294967295);
			wr.placement = integer(verb, "placement", fields.placement, FlushPlacement.Global | FlushPlacement.Persistent);
			if (wr.placement === 0) throw new VerbsError("EINVAL", verb, "placement must have a bit of FlushPlacement");
			wr.selectivity = integer(verb, "selectivity", fields.selectivity, 1);
			break;
		case Opcode.BindMw: prepareBind(wr, init);
	}
	if ("remoteAddr" in init) {
		wr.remoteAddr = integer(verb, "remoteAddr", fields.remoteAddr, maxAddress);
		wr.rkey = word$1(verb, "rkey", fields.rkey);
	} else if (needsRemote(init.opcode)) throw new VerbsError("EINVAL", verb, `opcode ${nameOf$2(Opcode, init.opcode)} needs remoteAddr and rkey`);
	if ("ah" in init && init.ah) {
		wr.ah = init.ah;
		wr.remoteQpn = integer(verb, "remoteQpn", fields.remoteQpn, 16777215);
		wr.remoteQkey = word$1(verb, "remoteQkey", fields.remoteQkey);
	}
	return wr;
}
function needsRemote(opcode) {
	return opcode !== Opcode.Send && opcode !== Opcode.SendWithImm && opcode !== Opcode.SendWithInv && opcode !== Opcode.LocalInv && opcode !== Opcode.BindMw;
}
const bindAccessFlags = Access.RemoteRead | Access.RemoteWrite | Access.RemoteAtomic | Access.ZeroBased | Access.MwBind;
function prepareBind(wr, init) {
	const verb = "postSend";
	const bind = init.bindMw;
	if (!bind?.mw || !bind.mr) throw new VerbsError("EINVAL", verb, "bindMw needs mw, mr, rkey, addr, length and accessFlags");
	if (bind.mw.type !== MwType.Type2) throw new VerbsError("EINVAL", verb, "BIND_MW takes windows of type 2; bind a type 1 window with qp.bindMw");
	fillBind(wr, bind.mw, word$1(verb, "bindMw.rkey", bind.rkey), bind.mr.lkey, bind.addr, bind.length, bind.accessFlags, verb);
}
/** Writes the fields of a bind; `newRkey` is the key that the window will have. */
function fillBind(wr, mw, newRkey, mrLkey, addr, length, access, verb) {
	wr.mwRkey = word$1(verb, "mw.rkey", mw.rkey);
	wr.mwType = mw.type;
	wr.mwNewRkey = newRkey;
	wr.mrLkey = word$1(verb, "mr.lkey", mrLkey);
	wr.bindAddr = integer(verb, "addr", addr, maxAddress);
	wr.bindLength = integer(verb, "length", length, maxAddress);
	wr.bindAccess = integer(verb, "accessFlags", access, bindAccessFlags);
	if ((wr.bindAccess & ~bindAccessFlags) !== 0) throw new VerbsError("EINVAL", verb, "accessFlags of a window can be remote rights and ZeroBased only");
}
/** The next key for a type 2 window: its low 8 bits belong to the user (`ibv_inc_rkey`). */
function incRkey(rkey) {
	if (typeof rkey !== "number") throw new VerbsError("EINVAL", "incRkey", `rkey must be a number, not ${describe(rkey)}`);
	return (rkey & 4294967040 | rkey + 1 & 255) >>> 0;
}
// src/verbs/api/builder.ts
/** The builder of a queue pair, `qp.wr`; for one thread at a time. */
var WorkRequestBuilder = class {
	#post;
	#first = null;
	#last = null;
	#started = false;
	#error = null;
	/** `wrId` of the requests that follow. */
	wrId = 0;
	/** Of the requests that follow: bits of `SendFlag`. */
	wrFlags = 0;
	/** @internal `post` posts a list of requests. */
	constructor(post) {
		this.#post = post;
	}
	/** `ibv_wr_start`: begins a list. EINVAL if one was begun and not ended. */
	start() {
		if (this.#started) throw new VerbsError("EINVAL", "wr.start", "already started: complete or abort first");
		this.#started = true;
		this.#first = null;
		this.#last = null;
		this.#error = null;
	}
	#add(verb, opcode) {
		if (!this.#started) throw new VerbsError("EINVAL", verb, "call wr.start first");
		const wr = new SendWorkRequest(this.wrId, opcode, this.wrFlags, []);
		if (this.#last) this.#last.next = wr;
		else this.#first = wr;
		this.#last = wr;
		return wr;
	}
	#current(verb) {
		if (!this.#last) throw new VerbsError("EINVAL", verb, "begin a request first, as with wr.send()");
		return this.#last;
	}
	#remote(verb, opcode, rkey, remoteAddr) {
		const wr = this.#add(verb, opcode);
		wr.rkey = rkey;
		wr.remoteAddr = remoteAddr;
		return wr;
	}
	/** `ibv_wr_send`. */
	send() {
		this.#add("wr.send", Opcode.Send);
	}
	/** `ibv_wr_send_imm`; the immediate has 32 bits. */
	sendImm(immData) {
		this.#add("wr.sendImm", Opcode.SendWithImm).immData = immData;
	}
	/** `ibv_wr_send_inv`: SEND that invalidates a window of the peer. */
	sendInv(invalidateRkey) {
		this.#add("wr.sendInv", Opcode.SendWithInv).invalidateRkey = invalidateRkey;
	}
	/** `ibv_wr_rdma_write`. */
	rdmaWrite(rkey, remoteAddr) {
		this.#remote("wr.rdmaWrite", Opcode.Write, rkey, remoteAddr);
	}
	/** `ibv_wr_rdma_write_imm`. */
	rdmaWriteImm(rkey, remoteAddr, immData) {
		this.#remote("wr.rdmaWriteImm", Opcode.WriteWithImm, rkey, remoteAddr).immData = immData;
	}
	/** `ibv_wr_rdma_read`. */
	rdmaRead(rkey, remoteAddr) {
		this.#remote("wr.rdmaRead", Opcode.Read, rkey, remoteAddr);
	}
	/** `ibv_wr_atomic_cmp_swp`, of 8 bytes. */
	atomicCmpSwp(rkey, remoteAddr, compare, swap) {
		const wr = this.#remote("wr.atomicCmpSwp", Opcode.AtomicCmpAndSwp, rkey, remoteAddr);
		wr.compareAdd = compare;
		wr.swap = swap;
	}
	/** `ibv_wr_atomic_fetch_add`, of 8 bytes. */
	atomicFetchAdd(rkey, remoteAddr, add) {
		this.#remote("wr.atomicFetchAdd", Opcode.AtomicFetchAndAdd, rkey, remoteAddr).compareAdd = add;
	}
	/** `ibv_wr_atomic_write`: the scatter/gather element (or inline data) holds the 8 bytes. */
	atomicWrite(rkey, remoteAddr) {
		this.#remote("wr.atomicWrite", Opcode.AtomicWrite, rkey, remoteAddr);
	}
	/** `ibv_wr_flush`: `length` bytes; `placement` has bits of `FlushPlacement`. */
	flush(rkey, remoteAddr, length, placement, selectivity) {
		const wr = this.#remote("wr.flush", Opcode.Flush, rkey, remoteAddr);
		wr.flushLength = length;
		wr.placement = placement;
		wr.selectivity = selectivity;
	}
	/** `ibv_wr_local_inv`. */
	localInv(invalidateRkey) {
		this.#add("wr.localInv", Opcode.LocalInv).invalidateRkey = invalidateRkey;
	}
	/** `ibv_wr_bind_mw`: binds a window of type 2, which gets the key `rkey`. */
	bindMw(mw, rkey, info) {
		const wr = this.#add("wr.bindMw", Opcode.BindMw);
		this.#keep(() => fillBind(wr, mw, rkey, info.mr.lkey, info.addr, info.length, info.accessFlags, "wr.bindMw"));
	}
	/** `ibv_wr_set_sge`: the only element of the present request; `length` in bytes. */
	setSge(lkey, addr, length) {
		this.#current("wr.setSge").sgList = [new ScatterGather(addr, length, lkey)];
	}
	/** `ibv_wr_set_sge_list`. */
	setSgeList(list) {
		const wr = this.#current("wr.setSgeList");
		this.#keep(() => {
			wr.sgList = sgesOf("wr.setSgeList", list);
		});
	}
	/** `ibv_wr_set_ud_addr`: the destination of the present UD request. */
	setUdAddr(ah, remoteQpn, remoteQkey) {
		const wr = this.#current("wr.setUdAddr");
		wr.ah = ah;
		wr.remoteQpn = remoteQpn;
		wr.remoteQkey = remoteQkey;
	}
	#keep(body) {
		try {
			body();
		} catch (error) {
			this.#error ??= error;
		}
	}
	/** `ibv_wr_complete`: posts what was collected, in one list. If a call since `start` was wrong it throws the first error, and posts nothing. */
	complete() {
		if (!this.#started) throw new VerbsError("EINVAL", "wr.complete", "call wr.start first");
		this.#started = false;
		if (this.#error) throw this.#error;
		if (this.#first) this.#post(this.#first);
	}
	/** `ibv_wr_abort`: forgets what was collected since `start`. */
	abort() {
		this.#started = false;
	}
};
// src/wire/aeth.ts
/**
* What the syndrome of an AETH says (InfiniBand Architecture Specification, volume 1, 9.7.5.2):
*
*     0 00 CCCCC   ACK, with the credit code C
*     0 01 TTTTT   RNR NAK, with the timer code T
*     0 11 NNNNN   NAK, with the reason N
*/
/** Bits 7:5 of a syndrome. The patterns not named here are reserved. */
const AethKind = {
	Ack: 0,
	RnrNak: 32,
	Nak: 96
};
/** Whole syndromes of the NAKs, and the ACK that says nothing about credits. */
const Syndrome = {
	AckNoCredits: 31,
	PsnSequence: 96,
	InvalidRequest: 97,
	RemoteAccess: 98,
	RemoteOperational: 99,
	InvalidRdRequest: 100
};
/** How long an RNR NAK asks to wait, by its timer code, in nanoseconds (table 46). Code 0 is the longest. */
const rnrTimerNs = Float64Array.from([
	65536,
	1,
	2,
	3,
	4,
	6,
	8,
	12,
	16,
	24,
	32,
	48,
	64,
	96,
	128,
	192,
	256,
	384,
	512,
	768,
	1024,
	1536,
	2048,
	3072,
	4096,
	6144,
	8192,
	12288,
	16384,
	24576,
	32768,
	49152
], (hundredthsOfMs) => hundredthsOfMs * 1e4);
/** How many receives a credit code stands for; -1 for code 31. 0, 1, 2, 3, 4, 6, 8, 12, 16, … 32768. */
function creditsOf(code) {
	if (code === 31) return -1;
	if (code < 2) return code;
	return code & 1 ? 3 * 2 ** ((code - 3) / 2) : 2 ** (code / 2);
}
/** The largest code that promises no more than `credits` receives. */
function creditCode(credits) {
	let code = 0;
	while (code < 30 && creditsOf(code + 1) <= credits) code++;
	return code;
}
/** ACK, RNR NAK 0.12 ms, NAK PSN sequence error, …: for people. */
function syndromeText(syndrome) {
	const value = syndrome & 31;
	switch (syndrome & 224) {
		case AethKind.Ack: return value === 31 ? "ACK" : `ACK, ${creditsOf(value)} credits`;
		case AethKind.RnrNak: return `RNR NAK, ${rnrTimerNs[value] / 1e6} ms`;
		case AethKind.Nak: return `NAK, ${nakReasons[value] ?? `reserved reason ${value}`}`;
		default: return `reserved syndrome 0x${syndrome.toString(16).padStart(2, "0")}`;
	}
}
const nakReasons = [
	"PSN sequence error",
	"invalid request",
	"remote access error",
	"remote operational error",
	"invalid RD request"
];
// src/wire/bytes.ts
/**
* Big-endian numbers in a Uint8Array, (b, at): what all headers are read and written with. No checks: the caller knows
* that the bytes are there. Reading behind the end gives zeros for the missing bytes, writing there does nothing.
*/
const two32 = 2 ** 32;
function u16(b, at) {
	return b[at] << 8 | b[at + 1];
}
function u24(b, at) {
	return b[at] << 16 | b[at + 1] << 8 | b[at + 2];
}
function u32(b, at) {
	return (b[at] << 24 | b[at + 1] << 16 | b[at + 2] << 8 | b[at + 3]) >>> 0;
}
function put16(b, at, v) {
	b[at] = v >>> 8;
	b[at + 1] = v;
}
function put24(b, at, v) {
	b[at] = v >>> 16;
	b[at + 1] = v >>> 8;
	b[at + 2] = v;
}
function put32(b, at, v) {
	b[at] = v >>> 24;
	b[at + 1] = v >>> 16;
	b[at + 2] = v >>> 8;
	b[at + 3] = v;
}
/** 64 bits as a number: exact below 2^53, rounded to the nearest double above. */
function get64(b, at) {
	return u32(b, at) * two32 + u32(b, at + 4);
}
/** `v` is a whole number from 0 to 2^53 - 1. */
function put64(b, at, v) {
	put32(b, at, Math.floor(v / two32));
	put32(b, at + 4, v >>> 0);
}
/** 64 bits, unsigned and exact. Ten times as slow as get64: for atomic operands and GUIDs. */
function get64Big(b, at) {
	return BigInt(u32(b, at)) << 32n | BigInt(u32(b, at + 4));
}
/** The low 64 bits of `v`; negative numbers as two's complement. */
function put64Big(b, at, v) {
	put32(b, at, Number(v >> 32n & 4294967295n));
	put32(b, at + 4, Number(v & 4294967295n));
}
// src/wire/cm-messages.ts
/**
* What the messages of the communication manager carry; cm.ts reads and writes them. Source: InfiniBand Architecture
* Specification, volume 1, 12.6 and 12.11.
*/
/** Attribute ids. */
const CmAttribute = {
	REQ: 16,
	MRA: 17,
	REJ: 18,
	REP: 19,
	RTU: 20,
	DREQ: 21,
	DREP: 22,
	SIDR_REQ: 23,
	SIDR_REP: 24,
	LAP: 25,
	APR: 26
};
// src/wire/errors.ts
var WireError = class extends Error {
	name = "WireError";
	code;
	constructor(code, message) {
		super(`${message} (${code})`);
		this.code = code;
	}
};
// src/wire/codec.ts
/**
* Codecs made from tables of fields: each header says once where its fields are, and can be read and written.
* They allocate and are for tools, management and tests; the data path uses the offsets of headers.ts directly.
*/
/** A number of `width` bits that begins `bit` bits, counted from the most significant, behind byte `byte`. */
function bits(byte, bit, width) {
	const size = Math.ceil((bit + width) / 8);
	const shift = 8 * size - bit - width;
	const limit = 2 ** width;
	return {
		read(b, at) {
			let v = 0;
			for (let i = 0; i < size; i++) v = v << 8 | b[at + byte + i];
			return (v >>> shift & limit - 1) >>> 0;
		},
		write(b, at, value, what) {
			if (!Number.isInteger(value) || value < 0 || value >= limit) throw new WireError("ERR_WIRE_VALUE", `${what}: ${value} is not a whole number from 0 to ${limit - 1}`);
			for (let i = 0; i < size; i++) b[at + byte + i] |= value << shift >>> 8 * (size - 1 - i);
		}
	};
}
const u8Field = (byte) => bits(byte, 0, 8);
const u16Field = (byte) => bits(byte, 0, 16);
const u24Field = (byte) => bits(byte, 0, 24);
function u32Field(byte) {
	return {
		read: (b, at) => u32(b, at + byte),
		write(b, at, value, what) {
			if (!Number.isInteger(value) || value < 0 || value > 4294967295) throw new WireError("ERR_WIRE_VALUE", `${what}: ${value} is not a whole number from 0 to 4294967295`);
			put32(b, at + byte, value);
		}
	};
}
function flag$1(byte, mask) {
	return {
		read: (b, at) => (b[at + byte] & mask) !== 0,
		write(b, at, value) {
			if (value) b[at + byte] |= mask;
		}
	};
}
/** 64 bits, unsigned. */
function u64Field(byte) {
	return {
		read: (b, at) => get64Big(b, at + byte),
		write(b, at, value, what) {
			if (value < 0n || value > 18446744073709551615n) throw new WireError("ERR_WIRE_VALUE", `${what}: ${value} is not a whole number from 0 to 2^64 - 1`);
			put64Big(b, at + byte, value);
		}
	};
}
/** Bytes; read as a view, not a copy. Fewer may be written: zeros follow. */
function bytesField(byte, length) {
	return {
		read: (b, at) => b.subarray(at + byte, at + byte + length),
		write(b, at, value, what) {
			if (value.length > length) throw new WireError("ERR_WIRE_VALUE", `${what}: ${value.length} bytes do not fit, at most ${length} do`);
			b.set(value, at + byte);
		}
	};
}
/** Fields of a part of the header, with offsets from the header's start like all others. */
function group(fields) {
	return {
		read: (b, at) => readFields(fields, b, at),
		write: (b, at, value, what) => writeFields(fields, b, at, value, what)
	};
}
/** A header of fixed length. */
var HeaderCodec = class {
	name;
	/** Bytes. */
	length;
	fields;
	#rule;
	#first;
	/** `rule` says what is wrong with a header; `first` is what the first byte always has: a version. */
	constructor(name, length, fields, rule, first = 0) {
		this.name = name;
		this.length = length;
		this.fields = fields;
		this.#rule = rule;
		this.#first = first;
	}
	/** The header at b[start], if it ends before `end` and keeps its rules; else why not. */
	parse(b, start, end) {
		if (end - start < this.length) return "tooShort";
		return this.#rule?.(b, start) ?? this.read(b, start);
	}
	/** All fields, whatever they are: `length` bytes must be there. Byte fields are views. */
	read(b, at) {
		return readFields(this.fields, b, at);
	}
	/** Writes `length` bytes, reserved bits as zeros, and returns the offset behind them. */
	emit(value, b, at) {
		const end = at + this.length;
		if (end > b.length) throw new WireError("ERR_WIRE_SPACE", `${this.name}: ${this.length} bytes do not fit at ${at} of ${b.length}`);
		b.fill(0, at, end);
		b[at] = this.#first;
		writeFields(this.fields, b, at, value, this.name);
		return end;
	}
};
function readFields(fields, b, at) {
	const value = {};
	for (const key in fields) value[key] = fields[key].read(b, at);
	return value;
}
function writeFields(fields, b, at, value, what) {
	for (const key in fields) fields[key].write(b, at, value[key], `${what}.${key}`);
}
// src/wire/mad.ts
/**
* Management datagrams: 256 bytes, the first 24 of which are the same for all classes (InfiniBand Architecture
* Specification, volume 1, 13.4.2).
*/
/** Where the fields of the MAD header are. */
const Mad = {
	/** Of the header; what the class defines follows. */
	length: 24,
	/** Of the whole datagram. */
	totalLength: 256,
	baseVersion: 0,
	mgmtClass: 1,
	classVersion: 2,
	method: 3,
	status: 4,
	classSpecific: 6,
	transactionId: 8,
	attributeId: 16,
	attributeModifier: 20
};
const MgmtClass = {
	subnLid: 1,
	subnDirected: 129,
	subnAdm: 3,
	perf: 4,
	boardManagement: 5,
	deviceManagement: 6,
	comm: 7,
	snmp: 8,
	congestion: 33
};
const MadMethod = {
	get: 1,
	set: 2,
	send: 3,
	trap: 5,
	report: 6,
	trapRepress: 7,
	getResponse: 129
};
new HeaderCodec("MAD", Mad.length, {
	baseVersion: u8Field(Mad.baseVersion),
	mgmtClass: u8Field(Mad.mgmtClass),
	classVersion: u8Field(Mad.classVersion),
	method: u8Field(Mad.method),
	status: u16Field(Mad.status),
	classSpecific: u16Field(Mad.classSpecific),
	transactionId: u64Field(Mad.transactionId),
	attributeId: u16Field(Mad.attributeId),
	attributeModifier: u32Field(Mad.attributeModifier)
}, (b, at) => b[at] === 1 ? void 0 : "madVersion");
// src/wire/cm.ts
/**
* The messages of the communication manager: MADs of class 0x07 on QP 1. Each message is one table of fields, whose
* offsets count from behind the MAD header. Source: InfiniBand Architecture Specification, volume 1, 12.6 and 12.11,
* tables 106 to 120.
*
*     active            passive            active            passive
*       REQ  ───────────>                    SIDR_REQ ────────>
*           <───── (MRA) REP, or REJ                 <──────── SIDR_REP
*       RTU  ───────────>
*       DREQ ───────────>  (either side)     LAP ─────────────>
*           <─────────── DREP                    <──────────── APR
*/
const bodyLength = Mad.totalLength - Mad.length;
/** The path of a REQ, primary or alternate, which begins at `byte`. */
function reqPath(byte) {
	return {
		localLid: u16Field(byte),
		remoteLid: u16Field(byte + 2),
		localGid: bytesField(byte + 4, 16),
		remoteGid: bytesField(byte + 20, 16),
		flowLabel: bits(byte + 36, 0, 20),
		packetRate: bits(byte + 39, 2, 6),
		trafficClass: u8Field(byte + 40),
		hopLimit: u8Field(byte + 41),
		serviceLevel: bits(byte + 42, 0, 4),
		subnetLocal: flag$1(byte + 42, 8),
		localAckTimeout: bits(byte + 43, 0, 5)
	};
}
const ids = {
	localCommId: u32Field(0),
	remoteCommId: u32Field(4)
};
const endOf = (byte) => ({ privateData: bytesField(byte, bodyLength - byte) });
new HeaderCodec("REQ", bodyLength, {
	localCommId: u32Field(0),
	serviceId: u64Field(8),
	localCaGuid: u64Field(16),
	localQkey: u32Field(28),
	localQpn: u24Field(32),
	responderResources: u8Field(35),
	localEecn: u24Field(36),
	initiatorDepth: u8Field(39),
	remoteEecn: u24Field(40),
	remoteCmResponseTimeout: bits(43, 0, 5),
	transportServiceType: bits(43, 5, 2),
	endToEndFlowControl: flag$1(43, 1),
	startingPsn: u24Field(44),
	localCmResponseTimeout: bits(47, 0, 5),
	retryCount: bits(47, 5, 3),
	pkey: u16Field(48),
	pathMtu: bits(50, 0, 4),
	rdcExists: flag$1(50, 8),
	rnrRetryCount: bits(50, 5, 3),
	maxCmRetries: bits(51, 0, 4),
	srq: flag$1(51, 8),
	extendedTransportType: bits(51, 5, 3),
	primary: group(reqPath(52)),
	alternate: group(reqPath(96)),
	sapSupported: flag$1(139, 4),
	...endOf(140)
}), new HeaderCodec("MRA", bodyLength, {
	...ids,
	messageMraed: bits(8, 0, 2),
	serviceTimeout: bits(9, 0, 5),
	...endOf(10)
}), new HeaderCodec("REJ", bodyLength, {
	...ids,
	messageRejected: bits(8, 0, 2),
	additionalInfoLength: bits(9, 0, 7),
	reason: u16Field(10),
	additionalInfo: bytesField(12, 72),
	...endOf(84)
}, (b, at) => b[at + 9] >>> 1 > 72 ? "additionalInfoLength" : void 0), new HeaderCodec("REP", bodyLength, {
	...ids,
	localQkey: u32Field(8),
	localQpn: u24Field(12),
	localEecn: u24Field(16),
	startingPsn: u24Field(20),
	responderResources: u8Field(24),
	initiatorDepth: u8Field(25),
	targetAckDelay: bits(26, 0, 5),
	failoverAccepted: bits(26, 5, 2),
	endToEndFlowControl: flag$1(26, 1),
	rnrRetryCount: bits(27, 0, 3),
	srq: flag$1(27, 16),
	localCaGuid: u64Field(28),
	...endOf(36)
}), new HeaderCodec("RTU", bodyLength, {
	...ids,
	...endOf(8)
}), new HeaderCodec("DREQ", bodyLength, {
	...ids,
	remoteQpn: u24Field(8),
	...endOf(12)
}), new HeaderCodec("DREP", bodyLength, {
	...ids,
	...endOf(8)
}), new HeaderCodec("SIDR_REQ", bodyLength, {
	requestId: u32Field(0),
	pkey: u16Field(4),
	serviceId: u64Field(8),
	...endOf(16)
}), new HeaderCodec("SIDR_REP", bodyLength, {
	requestId: u32Field(0),
	status: u8Field(4),
	additionalInfoLength: u8Field(5),
	qpn: u24Field(8),
	serviceId: u64Field(12),
	qkey: u32Field(20),
	additionalInfo: bytesField(24, 72),
	...endOf(96)
}, (b, at) => b[at + 5] > 72 ? "additionalInfoLength" : void 0), new HeaderCodec("LAP", bodyLength, {
	...ids,
	remoteQpn: u24Field(12),
	remoteCmResponseTimeout: bits(15, 0, 5),
	alternate: group({
		localLid: u16Field(20),
		remoteLid: u16Field(22),
		localGid: bytesField(24, 16),
		remoteGid: bytesField(40, 16),
		flowLabel: bits(56, 0, 20),
		trafficClass: u8Field(59),
		hopLimit: u8Field(60),
		packetRate: bits(61, 2, 6),
		serviceLevel: bits(62, 0, 4),
		subnetLocal: flag$1(62, 8),
		localAckTimeout: bits(63, 0, 5)
	}),
	...endOf(64)
}), new HeaderCodec("APR", bodyLength, {
	...ids,
	additionalInfoLength: u8Field(8),
	status: u8Field(9),
	additionalInfo: bytesField(12, 72),
	...endOf(84)
}, (b, at) => b[at + 8] > 72 ? "additionalInfoLength" : void 0);
new Map(Object.entries(CmAttribute).map(([type, id]) => [id, type]));
let zeroPath;
/** A path all of whose fields that are not given are zero. */
function cmPath(fields) {
	zeroPath ??= group(reqPath(0)).read(/* @__PURE__ */ new Uint8Array(44), 0);
	return {
		...zeroPath,
		...fields
	};
}
// src/wire/crc32.ts
/**
* CRC-32 as Ethernet's and the ICRC's: polynomial 0x04c11db7, bits reflected (0xedb88320). The state here is the
* register, an int32 before the final inversion; it starts as -1.
*
* Tables compute it, eight bytes a step (slicing-by-8). For long ranges native code is faster although it costs a call;
* this folder is pure, so a program on Node hands it in (`useCrc32`). Measured on Node 20, two cores, nanoseconds:
*
*     bytes      16   56  120  184  248  1024  4096
*     tables      8   43   87  131  170   710  2817
*     zlib       79  160  217  196  171   323  1120    with its subarray
*     ISA-L      52   54   56   57   59    71   120
*
* Sixteen bytes a step were a fifth faster than eight from 56 bytes on, slower below, and need twice the tables.
*
* The register is also a polynomial over GF(2) modulo the generator: bit 31 is the coefficient of x^0, bit 0 that of
* x^31. One more zero byte multiplies it by x^8; that can be undone, too.
*/
const generator$1 = -306674912;
/** No packet is as long; a small integer, since comparing with one is fastest. */
const never = 2 ** 30;
let long = null;
let longFrom = never;
/** From now on `crc32` computes the long ranges; null: tables compute all of them, as they do from the start. */
function useCrc32(crc32) {
	long = crc32 === null ? null : crc32.update;
	longFrom = crc32 === null ? never : crc32.fromBytes;
}
/** Eight tables of 256: T[256 * k + v] is what byte v does to the register k bytes later. */
const crcTable = /* @__PURE__ */ new Int32Array(2048);
for (let bit = 128, r = generator$1; bit > 0; bit >>= 1) {
	crcTable[bit] = r;
	r = r & 1 ? r >>> 1 ^ generator$1 : r >>> 1;
}
fromSingleBits(crcTable);
for (let i = 256; i < crcTable.length; i++) {
	const r = crcTable[i - 256];
	crcTable[i] = crcTable[r & 255] ^ r >>> 8;
}
const T = crcTable;
/** The register after b[start, end). */
function crcUpdate(r, b, start, end) {
	if (end - start < longFrom || long === null) return crcByTables(r, b, start, end);
	return ~long(~r, b, start, end);
}
function crcByTables(r, b, start, end) {
	let at = start;
	for (; at + 8 <= end; at += 8) {
		r ^= b[at] | b[at + 1] << 8 | b[at + 2] << 16 | b[at + 3] << 24;
		r = T[1792 | r & 255] ^ T[1536 | r >>> 8 & 255] ^ T[1280 | r >>> 16 & 255] ^ T[1024 | r >>> 24] ^ T[768 | b[at + 4]] ^ T[512 | b[at + 5]] ^ T[256 | b[at + 6]] ^ T[b[at + 7]];
	}
	for (; at < end; at++) r = T[(r ^ b[at]) & 255] ^ r >>> 8;
	return r;
}
/** The register after two words whose first bytes are the least significant: one step of slicing-by-8. */
function crcWords(r, first, second) {
	r ^= first;
	return T[1792 | r & 255] ^ T[1536 | r >>> 8 & 255] ^ T[1280 | r >>> 16 & 255] ^ T[1024 | r >>> 24] ^ T[768 | second & 255] ^ T[512 | second >>> 8 & 255] ^ T[256 | second >>> 16 & 255] ^ T[second >>> 24];
}
/** 256 entries: what each value of a byte adds to the register `behind` bytes after it. */
function contributions(behind) {
	const table = T.slice(0, 256);
	for (let i = 0; i < behind; i++) for (let v = 1; v < 256; v <<= 1) table[v] = T[table[v] & 255] ^ table[v] >>> 8;
	fromSingleBits(table);
	return table;
}
/**
* The other of the first 256 entries, where those of single bits are known: all is linear. Computing each by itself took
* milliseconds whenever a program started.
*/
function fromSingleBits(table) {
	for (let v = 1; v < 256; v++) table[v] = table[v & v - 1] ^ table[v & -v];
}
/** The product of two polynomials, modulo the generator. */
function multiply(a, b) {
	let product = 0;
	for (; a !== 0; a <<= 1) {
		product ^= b & a >> 31;
		b = b >>> 1 ^ generator$1 & -(b & 1);
	}
	return product;
}
const one$1 = -2147483648;
/** x^-1: times x it is 1. */
const inverseOfX = -613349823;
/** [j] is x^(-8 * 2^j). */
const inversePowers = /* @__PURE__ */ new Int32Array(24);
{
	let power = inverseOfX;
	for (let j = 0; j < 3; j++) power = multiply(power, power);
	for (let j = 0; j < inversePowers.length; j++) {
		inversePowers[j] = power;
		power = multiply(power, power);
	}
}
/** x^(-8 n) for n from 0 to 2^24 - 1: times the register after n zero bytes, it is the register before them. */
function inverseOfZeroBytes(n) {
	let product = one$1;
	for (let j = 0; n !== 0; j++, n >>>= 1) if (n & 1) product = multiply(product, inversePowers[j]);
	return product;
}
// src/wire/headers.ts
/**
* Where the fields of each header are: offsets in bytes from the header's start, lengths in bytes. Fields narrower than
* a byte share the offset of their byte and have a mask (`…Bits`, `…Shift`).
*
* The order on the wire of RoCEv2:
*
*     Ethernet  IPv4 or IPv6  UDP (4791)  BTH  extension headers  payload  pad  ICRC
*
* and of InfiniBand and RoCEv1: LRH or Ethernet, then a GRH (RoCEv1 always, InfiniBand between subnets), then the BTH.
* Source: InfiniBand Architecture Specification, volume 1, chapters 5, 7 and 9, annexes A14 (XRC), A17 (RoCEv2) and
* A19 (memory placement).
*/
/** Base transport header: the first of every packet. */
const Bth = {
	length: 12,
	opcode: 0,
	/** solicited, migReq, pad and tver. */
	flags: 1,
	pkey: 2,
	/** fecn, becn and six reserved bits: the byte that the ICRC does not cover. */
	ecn: 4,
	destQp: 5,
	/** Bit 0x80; the other seven are reserved. */
	ackReq: 8,
	psn: 9
};
const BthFlag = {
	solicited: 128,
	migReq: 64,
	pad: 48,
	padShift: 4,
	tver: 15
};
const BthEcn = {
	fecn: 128,
	becn: 64
};
/** RDMA: where the memory is and how long. */
const Reth = {
	length: 16,
	va: 0,
	rkey: 8,
	dmaLength: 12
};
/** ACK: see aeth.ts for what is in the syndrome. */
const Aeth = {
	length: 4,
	syndrome: 0,
	msn: 1
};
/** COMPARE SWAP takes both operands, FETCH ADD the first. */
const AtomicEth = {
	length: 28,
	va: 0,
	rkey: 8,
	swapAdd: 12,
	compare: 20
};
const AtomicAckEth = {
	length: 8,
	original: 0
};
const ImmDt = {
	length: 4,
	data: 0
};
/** The key that a SEND with invalidate ends. */
const Ieth = {
	length: 4,
	rkey: 0
};
/** Datagrams. */
const Deth = {
	length: 8,
	qkey: 0,
	srcQp: 5
};
/** FLUSH: placement type in bits 3:0, selectivity level in bits 5:4 of the last byte. */
const Feth = {
	length: 4,
	type: 3,
	placementBits: 15,
	selectivityBits: 48,
	selectivityShift: 4
};
const Xrceth = {
	length: 4,
	srqn: 1
};
const Rdeth = {
	length: 4,
	eeContext: 1
};
/** What follows the BTH of a congestion notification packet: 16 reserved bytes. */
const CnpPad = { length: 16 };
/** Global routing header; the same layout as an IPv6 header. */
const Grh = {
	length: 40,
	/** ipVersion in bits 31:28, tclass in 27:20, flowLabel in 19:0. */
	versionTclassFlow: 0,
	payloadLength: 4,
	nextHeader: 6,
	hopLimit: 7,
	sgid: 8,
	dgid: 24
};
/** Local routing header of InfiniBand. */
const Lrh = {
	length: 8,
	/** virtual lane in bits 7:4, link version in 3:0. */
	vlVersion: 0,
	/** service level in bits 7:4, two reserved, next header (LrhNext) in 1:0. */
	slNext: 1,
	dlid: 2,
	/** Five reserved bits, then 11: the length in words of four bytes, from the LRH to before the VCRC. */
	packetLength: 4,
	slid: 6
};
const Icrc = { length: 4 };
const Ethernet = {
	length: 14,
	destination: 0,
	source: 6,
	etherType: 12
};
/** A tag follows the etherType that announces it: what is in the tag, then the next etherType. */
const Vlan = {
	length: 4,
	tci: 0,
	etherType: 2
};
const EtherType = {
	ipv4: 2048,
	ipv6: 34525,
	vlan: 33024,
	serviceVlan: 34984,
	oldServiceVlan: 37120,
	rocev1: 35093
};
const Ipv4 = {
	length: 20,
	versionIhl: 0,
	tos: 1,
	totalLength: 2,
	identification: 4,
	/** 0x4000 do not fragment, 0x2000 more fragments, 0x1fff offset in units of eight bytes. */
	fragment: 6,
	ttl: 8,
	protocol: 9,
	checksum: 10,
	source: 12,
	destination: 16
};
const ipv4DontFragment = 16384;
const Ipv6 = {
	length: 40,
	versionTclassFlow: 0,
	payloadLength: 4,
	nextHeader: 6,
	hopLimit: 7,
	source: 8,
	destination: 24
};
const IpProtocol = {
	hopByHop: 0,
	udp: 17,
	routing: 43,
	fragment: 44,
	authentication: 51,
	destinationOptions: 60
};
const Udp = {
	length: 8,
	sourcePort: 0,
	destinationPort: 2,
	udpLength: 4,
	checksum: 6
};
/** The UDP port of RoCEv2. */
const rocePort = 4791;
// src/wire/icrc.ts
/**
* The ICRC of RoCEv2: CRC-32 (0xedb88320, reflected) over 8 bytes of ones in place of an LRH, the IP and UDP headers with
* what routers change set to ones, and BTH, extension headers, payload and pad with byte 4 of the BTH set to ones.
* It follows the pad, least significant byte first.
*
* All CRC state here is the register before the final inversion, as an int32. CRC is linear over XOR, which serves twice:
*
* - Headers of a flow differ in the length fields and the IPv4 identification only. The register after them is that of a
*   header with zeros there, XOR what the bytes of the length and the identification contribute, each from a table.
* - A receiver on a UDP socket does not see the identification. If the ICRC that came differs from the one computed with
*   identification 0, the difference must be what some identification causes. Moved back over the bytes behind the field
*   (a multiplication by a power of x, known for each length), it is the identification itself, or nothing that fits in
*   16 bits; then the packet is damaged.
*
* Source: InfiniBand Architecture Specification, volume 1, 7.8.1, and annex A17, 17.3.2.
*/
/** The register after the eight bytes of ones that stand for an LRH. */
const afterLrh = crcWords(-1, -1, -1);
/** One direction of a RoCEv2 flow: the IP and UDP headers as far as the ICRC covers them. */
var IcrcFlow = class {
	/** The register after the headers, with zeros for lengths and identification. */
	#headers;
	#ipv4;
	#lengths;
	/** Addresses of 4 or 16 bytes, both the same. IPv4 packets have DF set and no options, IPv6 packets no extensions. */
	constructor(source, destination, sourcePort, destinationPort = rocePort) {
		if (source.length !== destination.length || source.length !== 4 && source.length !== 16) throw new WireError("ERR_WIRE_VALUE", `IcrcFlow: addresses have 4 or 16 bytes, both the same; these have ${source.length} and ${destination.length}`);
		this.#ipv4 = source.length === 4;
		this.#lengths = this.#ipv4 ? ipv4Lengths : ipv6Lengths;
		const b = maskedHeaders(source, destination, sourcePort, destinationPort);
		this.#headers = crcUpdate(afterLrh, b, 0, b.length);
	}
	/**
	* The ICRC, unsigned, of the packet b[start, end): from the BTH to the end of the pad. `identification` is that of the
	* IPv4 header; IPv6 has none.
	*/
	compute(b, start, end, identification = 0) {
		return ~this.#register(b, start, end, identification) >>> 0;
	}
	/** Computes it and puts it at b[end, end + 4). */
	write(b, start, end, identification = 0) {
		const icrc = ~this.#register(b, start, end, identification);
		b[end] = icrc;
		b[end + 1] = icrc >>> 8;
		b[end + 2] = icrc >>> 16;
		b[end + 3] = icrc >>> 24;
	}
	/**
	* Compares with the four bytes at `end`: the IPv4 identification for which it is right (0 for IPv6), or -1 if none is.
	* With IPv4 a damaged packet passes with probability 2^-16, since the identification is not known.
	*/
	check(b, start, end) {
		const residue = ~(b[end] | b[end + 1] << 8 | b[end + 2] << 16 | b[end + 3] << 24) ^ this.#register(b, start, end, 0);
		if (residue === 0) return 0;
		if (!this.#ipv4) return -1;
		return identificationOf(residue, end - start);
	}
	#register(b, start, end, identification) {
		const table = this.#lengths;
		const udp = end - start + Udp.length + Icrc.length;
		const ip = this.#ipv4 ? udp + Ipv4.length : udp;
		let r = this.#headers ^ table[ip >>> 8 & 255] ^ table[256 | ip & 255] ^ table[512 | udp >>> 8 & 255] ^ table[768 | udp & 255];
		if (identification !== 0 && this.#ipv4) r ^= identifications[identification >>> 8 & 255] ^ identifications[256 | identification & 255];
		return afterPacket(r, b, start, end);
	}
};
/**
* The IPv4 identification that explains `residue`, the difference between the ICRC that came and the one computed with
* identification 0 over a packet of `n` bytes; -1 if none does.
*/
function identificationOf(residue, n) {
	const back = multiply(residue, inverseFor(n));
	if ((back & 65535) !== 0) return -1;
	return back >>> 8 & 65280 | back >>> 24;
}
/** The register after BTH, extension headers, payload and pad. A packet without a whole BTH gives some number. */
function afterPacket(r, b, start, end) {
	if (end - start < Bth.length) return crcUpdate(r, b, start, end);
	return crcUpdate(crcWords(r, word(b, start), word(b, start + 4) | 255), b, start + 8, end);
}
function word(b, at) {
	return b[at] | b[at + 1] << 8 | b[at + 2] << 16 | b[at + 3] << 24;
}
/** IP and UDP headers with zeros for lengths and identification, and ones for what the ICRC does not cover. */
function maskedHeaders(source, destination, sourcePort, port) {
	const ip = source.length === 4 ? Ipv4 : Ipv6;
	const b = new Uint8Array(ip.length + Udp.length);
	if (source.length === 4) {
		b[Ipv4.versionIhl] = 69;
		b[Ipv4.tos] = 255;
		put16(b, Ipv4.fragment, ipv4DontFragment);
		b[Ipv4.ttl] = 255;
		b[Ipv4.protocol] = IpProtocol.udp;
		put16(b, Ipv4.checksum, 65535);
	} else {
		put32(b, Ipv6.versionTclassFlow, 1879048191);
		b[Ipv6.nextHeader] = IpProtocol.udp;
		b[Ipv6.hopLimit] = 255;
	}
	b.set(source, ip.source);
	b.set(destination, ip.destination);
	put16(b, ip.length + Udp.sourcePort, sourcePort);
	put16(b, ip.length + Udp.destinationPort, port);
	put16(b, ip.length + Udp.checksum, 65535);
	return b;
}
/** What the two bytes of a field add to the register after the headers: 256 entries for the first, 256 for the second. */
function field(offset, headers) {
	const table = /* @__PURE__ */ new Int32Array(512);
	table.set(contributions(headers - offset - 1), 0);
	table.set(contributions(headers - offset - 2), 256);
	return table;
}
/** The fields of `ipLength` and of the UDP length, one after the other. */
function lengthsTable(ipLength, ipHeader) {
	const headers = ipHeader + Udp.length;
	const table = /* @__PURE__ */ new Int32Array(1024);
	table.set(field(ipLength, headers), 0);
	table.set(field(ipHeader + Udp.udpLength, headers), 512);
	return table;
}
const ipv4Lengths = lengthsTable(Ipv4.totalLength, Ipv4.length);
const ipv6Lengths = lengthsTable(Ipv6.payloadLength, Ipv6.length);
const identifications = field(Ipv4.identification, Ipv4.length + Udp.length);
/** Bytes of the headers behind the identification, and the four that a CRC-32 adds. */
const behindIdentification = Ipv4.length - Ipv4.identification - 2 + Udp.length + 4;
/** By the number of words in a packet; 0, which no power of x is, where it has not been needed yet. */
const inverses = /* @__PURE__ */ new Int32Array(16384);
function inverseFor(n) {
	if (n & 3 || n >= 65536) return inverseOfZeroBytes(n + behindIdentification);
	const known = inverses[n >> 2];
	if (known !== 0) return known;
	const computed = inverseOfZeroBytes(n + behindIdentification);
	inverses[n >> 2] = computed;
	return computed;
}
// src/wire/link.ts
/**
* The layers below the BTH as values: Ethernet with VLAN tags, IPv4, IPv6, UDP; LRH and GRH. Lengths and checksums are
* plain fields here; emitting a whole frame (frame.ts) computes them.
*/
/** The bytes that emitEthernet writes. */
function ethernetLength(ethernet) {
	return Ethernet.length + Vlan.length * ethernet.tags.length;
}
/** Returns the offset behind the header. */
function emitEthernet(ethernet, b, at) {
	const end = at + ethernetLength(ethernet);
	if (end > b.length) throw new WireError("ERR_WIRE_SPACE", `Ethernet: does not fit at ${at} of ${b.length}`);
	if (ethernet.destination.length !== 6 || ethernet.source.length !== 6) throw new WireError("ERR_WIRE_VALUE", "Ethernet: an address has 6 bytes");
	b.set(ethernet.destination, at + Ethernet.destination);
	b.set(ethernet.source, at + Ethernet.source);
	let next = at + Ethernet.etherType;
	for (const { etherType, tci } of ethernet.tags) {
		put16(b, next, etherType);
		put16(b, next + 2, tci);
		next += Vlan.length;
	}
	put16(b, next, ethernet.etherType);
	return end;
}
new HeaderCodec("IPv4", Ipv4.length, {
	tos: u8Field(Ipv4.tos),
	totalLength: u16Field(Ipv4.totalLength),
	identification: u16Field(Ipv4.identification),
	dontFragment: flag$1(Ipv4.fragment, 64),
	moreFragments: flag$1(Ipv4.fragment, 32),
	fragmentOffset: bits(Ipv4.fragment, 3, 13),
	ttl: u8Field(Ipv4.ttl),
	protocol: u8Field(Ipv4.protocol),
	checksum: u16Field(Ipv4.checksum),
	source: bytesField(Ipv4.source, 4),
	destination: bytesField(Ipv4.destination, 4)
}, (b, at) => b[at] >>> 4 !== 4 ? "ipVersion" : b[at] === 69 ? void 0 : "ipHeaderLength", 69);
new HeaderCodec("IPv6", Ipv6.length, {
	trafficClass: bits(Ipv6.versionTclassFlow, 4, 8),
	flowLabel: bits(Ipv6.versionTclassFlow, 12, 20),
	payloadLength: u16Field(Ipv6.payloadLength),
	nextHeader: u8Field(Ipv6.nextHeader),
	hopLimit: u8Field(Ipv6.hopLimit),
	source: bytesField(Ipv6.source, 16),
	destination: bytesField(Ipv6.destination, 16)
}, (b, at) => b[at] >>> 4 === 6 ? void 0 : "ipVersion", 96);
new HeaderCodec("UDP", Udp.length, {
	sourcePort: u16Field(Udp.sourcePort),
	destinationPort: u16Field(Udp.destinationPort),
	udpLength: u16Field(Udp.udpLength),
	checksum: u16Field(Udp.checksum)
});
new HeaderCodec("GRH", Grh.length, {
	trafficClass: bits(Grh.versionTclassFlow, 4, 8),
	flowLabel: bits(Grh.versionTclassFlow, 12, 20),
	payloadLength: u16Field(Grh.payloadLength),
	nextHeader: u8Field(Grh.nextHeader),
	hopLimit: u8Field(Grh.hopLimit),
	sgid: bytesField(Grh.sgid, 16),
	dgid: bytesField(Grh.dgid, 16)
}, (b, at) => b[at] >>> 4 === 6 ? void 0 : "ipVersion", 96);
new HeaderCodec("LRH", Lrh.length, {
	virtualLane: bits(Lrh.vlVersion, 0, 4),
	serviceLevel: bits(Lrh.slNext, 0, 4),
	next: bits(Lrh.slNext, 6, 2),
	dlid: u16Field(Lrh.dlid),
	packetLength: bits(Lrh.packetLength, 5, 11),
	slid: u16Field(Lrh.slid)
}, (b, at) => (b[at] & 15) === 0 ? void 0 : "linkVersion");
/** The checksum of b[start, end), which holds zeros where it belongs; over a header with a right checksum it is 0. */
function ipv4Checksum(b, start, end) {
	let sum = 0;
	for (let at = start; at < end; at += 2) sum += u16(b, at);
	while (sum > 65535) sum = (sum & 65535) + (sum >>> 16);
	return ~sum & 65535;
}
/** The UDP checksum of b[udp, end) between two addresses (for IPv6, where 0 is not allowed on most paths); never 0. */
function udpChecksum(b, udp, end, source, destination) {
	let sum = 17 + (end - udp);
	for (let i = 0; i < source.length; i += 2) sum += u16(source, i) + u16(destination, i);
	for (let at = udp; at < end; at += 2) sum += at + 1 < end ? u16(b, at) : b[at] << 8;
	sum -= u16(b, udp + Udp.checksum);
	while (sum > 65535) sum = (sum & 65535) + (sum >>> 16);
	return ~sum & 65535 || 65535;
}
// src/wire/opcodes.ts
/**
* Every opcode of the BTH and what follows it. `WireOpcode` says which exist; `operations` says what each of the 32
* operations is, whatever the transport. All else is derived from these two: names, header lists, lengths, bits.
*
*     bits 7:5  transport     000 RC   001 UC   010 RD   011 UD   100 (0x81) CNP   101 XRC
*     bits 4:0  operation
*
* Source: InfiniBand Architecture Specification, volume 1, 9.2.1 (table 38), annexes A14, A17 and A19.
*/
const WireOpcode = {
	RcSendFirst: 0,
	RcSendMiddle: 1,
	RcSendLast: 2,
	RcSendLastWithImm: 3,
	RcSendOnly: 4,
	RcSendOnlyWithImm: 5,
	RcWriteFirst: 6,
	RcWriteMiddle: 7,
	RcWriteLast: 8,
	RcWriteLastWithImm: 9,
	RcWriteOnly: 10,
	RcWriteOnlyWithImm: 11,
	RcReadRequest: 12,
	RcReadResponseFirst: 13,
	RcReadResponseMiddle: 14,
	RcReadResponseLast: 15,
	RcReadResponseOnly: 16,
	RcAck: 17,
	RcAtomicAck: 18,
	RcCompareSwap: 19,
	RcFetchAdd: 20,
	RcSendLastWithInv: 22,
	RcSendOnlyWithInv: 23,
	RcFlush: 28,
	RcAtomicWrite: 29,
	UcSendFirst: 32,
	UcSendMiddle: 33,
	UcSendLast: 34,
	UcSendLastWithImm: 35,
	UcSendOnly: 36,
	UcSendOnlyWithImm: 37,
	UcWriteFirst: 38,
	UcWriteMiddle: 39,
	UcWriteLast: 40,
	UcWriteLastWithImm: 41,
	UcWriteOnly: 42,
	UcWriteOnlyWithImm: 43,
	RdSendFirst: 64,
	RdSendMiddle: 65,
	RdSendLast: 66,
	RdSendLastWithImm: 67,
	RdSendOnly: 68,
	RdSendOnlyWithImm: 69,
	RdWriteFirst: 70,
	RdWriteMiddle: 71,
	RdWriteLast: 72,
	RdWriteLastWithImm: 73,
	RdWriteOnly: 74,
	RdWriteOnlyWithImm: 75,
	RdReadRequest: 76,
	RdReadResponseFirst: 77,
	RdReadResponseMiddle: 78,
	RdReadResponseLast: 79,
	RdReadResponseOnly: 80,
	RdAck: 81,
	RdAtomicAck: 82,
	RdCompareSwap: 83,
	RdFetchAdd: 84,
	RdResync: 85,
	RdFlush: 92,
	UdSendOnly: 100,
	UdSendOnlyWithImm: 101,
	Cnp: 129,
	XrcSendFirst: 160,
	XrcSendMiddle: 161,
	XrcSendLast: 162,
	XrcSendLastWithImm: 163,
	XrcSendOnly: 164,
	XrcSendOnlyWithImm: 165,
	XrcWriteFirst: 166,
	XrcWriteMiddle: 167,
	XrcWriteLast: 168,
	XrcWriteLastWithImm: 169,
	XrcWriteOnly: 170,
	XrcWriteOnlyWithImm: 171,
	XrcReadRequest: 172,
	XrcReadResponseFirst: 173,
	XrcReadResponseMiddle: 174,
	XrcReadResponseLast: 175,
	XrcReadResponseOnly: 176,
	XrcAck: 177,
	XrcAtomicAck: 178,
	XrcCompareSwap: 179,
	XrcFetchAdd: 180,
	XrcSendLastWithInv: 182,
	XrcSendOnlyWithInv: 183
};
/** The lengths of all extension headers, by name. */
const extensionLengths = {
	RDETH: Rdeth.length,
	DETH: Deth.length,
	XRCETH: Xrceth.length,
	FETH: Feth.length,
	RETH: Reth.length,
	AtomicETH: AtomicEth.length,
	AETH: Aeth.length,
	AtomicAckETH: AtomicAckEth.length,
	ImmDt: ImmDt.length,
	IETH: Ieth.length,
	CNP: CnpPad.length
};
/** Bits of `opcodeBits`. */
const OpBit = {
	First: 1,
	Middle: 2,
	Last: 4,
	Only: 8,
	Send: 16,
	Write: 32,
	ReadRequest: 64,
	ReadResponse: 128,
	Ack: 256,
	AtomicAck: 512,
	/** COMPARE SWAP and FETCH ADD. */
	Atomic: 1024,
	Flush: 2048,
	AtomicWrite: 4096,
	Resync: 8192,
	Cnp: 16384,
	Rdeth: 32768,
	Deth: 65536,
	Xrceth: 131072,
	Feth: 262144,
	Reth: 524288,
	AtomicEth: 1048576,
	Aeth: 2097152,
	AtomicAckEth: 4194304,
	Imm: 8388608,
	Ieth: 16777216,
	Payload: 33554432,
	/** Travels from requester to responder. */
	Request: 67108864,
	/** Travels from responder to requester. A CNP is neither. */
	Response: 134217728
};
const placeBits = {
	first: OpBit.First,
	middle: OpBit.Middle,
	last: OpBit.Last,
	only: OpBit.Only
};
const operationBits = {
	SEND: OpBit.Send | OpBit.Request,
	WRITE: OpBit.Write | OpBit.Request,
	READ_REQUEST: OpBit.ReadRequest | OpBit.Request,
	READ_RESPONSE: OpBit.ReadResponse | OpBit.Response,
	ACK: OpBit.Ack | OpBit.Response,
	ATOMIC_ACK: OpBit.AtomicAck | OpBit.Response,
	COMPARE_SWAP: OpBit.Atomic | OpBit.Request,
	FETCH_ADD: OpBit.Atomic | OpBit.Request,
	RESYNC: OpBit.Resync | OpBit.Request,
	FLUSH: OpBit.Flush | OpBit.Request,
	ATOMIC_WRITE: OpBit.AtomicWrite | OpBit.Request,
	CNP: OpBit.Cnp
};
const headerBits = {
	RDETH: OpBit.Rdeth,
	DETH: OpBit.Deth,
	XRCETH: OpBit.Xrceth,
	FETH: OpBit.Feth,
	RETH: OpBit.Reth,
	AtomicETH: OpBit.AtomicEth,
	AETH: OpBit.Aeth,
	AtomicAckETH: OpBit.AtomicAckEth,
	ImmDt: OpBit.Imm,
	IETH: OpBit.Ieth,
	CNP: 0
};
/** By bits 4:0 of the opcode: what an operation is called and what follows what its transport puts behind the BTH. */
const operations$1 = {
	0: [
		"SEND_FIRST",
		"SEND",
		"first",
		true
	],
	1: [
		"SEND_MIDDLE",
		"SEND",
		"middle",
		true
	],
	2: [
		"SEND_LAST",
		"SEND",
		"last",
		true
	],
	3: [
		"SEND_LAST_WITH_IMMEDIATE",
		"SEND",
		"last",
		true,
		"ImmDt"
	],
	4: [
		"SEND_ONLY",
		"SEND",
		"only",
		true
	],
	5: [
		"SEND_ONLY_WITH_IMMEDIATE",
		"SEND",
		"only",
		true,
		"ImmDt"
	],
	6: [
		"RDMA_WRITE_FIRST",
		"WRITE",
		"first",
		true,
		"RETH"
	],
	7: [
		"RDMA_WRITE_MIDDLE",
		"WRITE",
		"middle",
		true
	],
	8: [
		"RDMA_WRITE_LAST",
		"WRITE",
		"last",
		true
	],
	9: [
		"RDMA_WRITE_LAST_WITH_IMMEDIATE",
		"WRITE",
		"last",
		true,
		"ImmDt"
	],
	10: [
		"RDMA_WRITE_ONLY",
		"WRITE",
		"only",
		true,
		"RETH"
	],
	11: [
		"RDMA_WRITE_ONLY_WITH_IMMEDIATE",
		"WRITE",
		"only",
		true,
		"RETH",
		"ImmDt"
	],
	12: [
		"RDMA_READ_REQUEST",
		"READ_REQUEST",
		"only",
		false,
		"RETH"
	],
	13: [
		"RDMA_READ_RESPONSE_FIRST",
		"READ_RESPONSE",
		"first",
		true,
		"AETH"
	],
	14: [
		"RDMA_READ_RESPONSE_MIDDLE",
		"READ_RESPONSE",
		"middle",
		true
	],
	15: [
		"RDMA_READ_RESPONSE_LAST",
		"READ_RESPONSE",
		"last",
		true,
		"AETH"
	],
	16: [
		"RDMA_READ_RESPONSE_ONLY",
		"READ_RESPONSE",
		"only",
		true,
		"AETH"
	],
	17: [
		"ACKNOWLEDGE",
		"ACK",
		"only",
		false,
		"AETH"
	],
	18: [
		"ATOMIC_ACKNOWLEDGE",
		"ATOMIC_ACK",
		"only",
		false,
		"AETH",
		"AtomicAckETH"
	],
	19: [
		"COMPARE_SWAP",
		"COMPARE_SWAP",
		"only",
		false,
		"AtomicETH"
	],
	20: [
		"FETCH_ADD",
		"FETCH_ADD",
		"only",
		false,
		"AtomicETH"
	],
	21: [
		"RESYNC",
		"RESYNC",
		"only",
		false
	],
	22: [
		"SEND_LAST_WITH_INVALIDATE",
		"SEND",
		"last",
		true,
		"IETH"
	],
	23: [
		"SEND_ONLY_WITH_INVALIDATE",
		"SEND",
		"only",
		true,
		"IETH"
	],
	28: [
		"FLUSH",
		"FLUSH",
		"only",
		false,
		"FETH",
		"RETH"
	],
	29: [
		"ATOMIC_WRITE",
		"ATOMIC_WRITE",
		"only",
		true,
		"RETH"
	]
};
const cnp = [
	"CNP",
	"CNP",
	"only",
	false,
	"CNP"
];
/** By bits 7:5: the headers that a transport puts first, in requests and in responses. */
const transports = {
	0: [
		"RC",
		[],
		[]
	],
	1: [
		"UC",
		[],
		[]
	],
	2: [
		"RD",
		["RDETH", "DETH"],
		["RDETH"]
	],
	3: [
		"UD",
		["DETH"],
		[]
	],
	4: [
		"CNP",
		[],
		[]
	],
	5: [
		"XRC",
		["XRCETH"],
		[]
	]
};
/** 256 entries; undefined where there is no such opcode. */
const opcodeTable = buildTable();
/** BTH and all extension headers together, in bytes; 0 where there is no such opcode. A CNP's reserved bytes count. */
const headerLength = /* @__PURE__ */ new Uint8Array(256);
/** OpBit flags; 0 where there is no such opcode. */
const opcodeBits = /* @__PURE__ */ new Uint32Array(256);
for (const info of opcodeTable) {
	if (info === void 0) continue;
	const { opcode, operation, place, headers, payload } = info;
	headerLength[opcode] = headers.reduce((sum, name) => sum + extensionLengths[name], Bth.length);
	const bits = operationBits[operation] | placeBits[place] | (payload ? OpBit.Payload : 0);
	opcodeBits[opcode] = headers.reduce((all, name) => all | headerBits[name], bits);
}
/** RC_SEND_ONLY, or UNKNOWN_0xNN. */
function opcodeName(opcode) {
	return opcodeTable[opcode]?.name ?? `UNKNOWN_0x${opcode.toString(16).padStart(2, "0")}`;
}
function buildTable() {
	const table = new Array(256).fill(void 0);
	for (const opcode of Object.values(WireOpcode)) {
		const [transport, requestHeaders, responseHeaders] = transports[opcode >> 5];
		const [name, operation, place, payload, ...own] = transport === "CNP" ? cnp : operations$1[opcode & 31];
		const first = operationBits[operation] & OpBit.Response ? responseHeaders : requestHeaders;
		table[opcode] = {
			opcode,
			name: transport === "CNP" ? name : `${transport}_${name}`,
			transport,
			operation,
			place,
			headers: [...first, ...own],
			payload
		};
	}
	return table;
}
new HeaderCodec("BTH", Bth.length, {
	opcode: u8Field(Bth.opcode),
	solicited: flag$1(Bth.flags, BthFlag.solicited),
	migReq: flag$1(Bth.flags, BthFlag.migReq),
	pkey: u16Field(Bth.pkey),
	fecn: flag$1(Bth.ecn, BthEcn.fecn),
	becn: flag$1(Bth.ecn, BthEcn.becn),
	destQp: u24Field(Bth.destQp),
	ackReq: flag$1(Bth.ackReq, 128),
	psn: u24Field(Bth.psn)
});
new HeaderCodec("RDETH", Rdeth.length, { eeContext: u24Field(Rdeth.eeContext) }), new HeaderCodec("DETH", Deth.length, {
	qkey: u32Field(Deth.qkey),
	srcQp: u24Field(Deth.srcQp)
}), new HeaderCodec("XRCETH", Xrceth.length, { srqn: u24Field(Xrceth.srqn) }), new HeaderCodec("FETH", Feth.length, {
	placement: bits(Feth.type, 4, 4),
	selectivity: bits(Feth.type, 2, 2)
}), new HeaderCodec("RETH", Reth.length, {
	va: u64Field(Reth.va),
	rkey: u32Field(Reth.rkey),
	dmaLength: u32Field(Reth.dmaLength)
}), new HeaderCodec("AtomicETH", AtomicEth.length, {
	va: u64Field(AtomicEth.va),
	rkey: u32Field(AtomicEth.rkey),
	swapAdd: u64Field(AtomicEth.swapAdd),
	compare: u64Field(AtomicEth.compare)
}), new HeaderCodec("AETH", Aeth.length, {
	syndrome: u8Field(Aeth.syndrome),
	msn: u24Field(Aeth.msn)
}), new HeaderCodec("AtomicAckETH", AtomicAckEth.length, { original: u64Field(AtomicAckEth.original) }), new HeaderCodec("ImmDt", ImmDt.length, { data: u32Field(ImmDt.data) }), new HeaderCodec("IETH", Ieth.length, { rkey: u32Field(Ieth.rkey) }), new HeaderCodec("CNP", CnpPad.length, { reserved: bytesField(0, CnpPad.length) });
/** The longest message, and so the largest DMA length: 2 GiB. */
const maxMessage = 2147483648;
// src/wire/gid.ts
/**
* GIDs and IP addresses, as bytes and as text. The GID of an IPv4 address a.b.c.d is ::ffff:a.b.c.d, that of an IPv6
* address is the address (annex A17, 17.4.1.1).
*/
/** 16 bytes. `address` has 4 or 16; another length throws. */
function gidOfIp(address) {
	const gid = /* @__PURE__ */ new Uint8Array(16);
	if (address.length === 16) gid.set(address);
	else if (address.length === 4) {
		gid[10] = gid[11] = 255;
		gid.set(address, 12);
	} else throw new WireError("ERR_WIRE_VALUE", `gidOfIp: an address has 4 or 16 bytes, not ${address.length}`);
	return gid;
}
function isIpv4Gid(gid) {
	for (let i = 0; i < 10; i++) if (gid[i] !== 0) return false;
	return gid[10] === 255 && gid[11] === 255;
}
/** 4 bytes for the GID of an IPv4 address, else 16; always a copy. */
function ipOfGid(gid) {
	return isIpv4Gid(gid) ? gid.slice(12, 16) : gid.slice(0, 16);
}
/** 10.0.0.7, or fe80::1 (RFC 5952). `address` has 4 or 16 bytes. */
function formatIp(address) {
	if (address.length === 4) return address.join(".");
	if (address.length !== 16) throw new WireError("ERR_WIRE_VALUE", `formatIp: an address has 4 or 16 bytes, not ${address.length}`);
	if (isIpv4Gid(address)) return `::ffff:${address.subarray(12).join(".")}`;
	const groups = Array.from({ length: 8 }, (_, i) => address[2 * i] << 8 | address[2 * i + 1]);
	const [from, to] = longestZeros(groups);
	const text = (part) => part.map((group) => group.toString(16)).join(":");
	return to - from < 2 ? text(groups) : `${text(groups.slice(0, from))}::${text(groups.slice(to))}`;
}
/** 4 or 16 bytes; undefined if the text is no address. Names of interfaces (%eth0) are not understood. */
function parseIp(text) {
	return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}
/** Where the longest run of zero groups is, the first of equals: RFC 5952, 4.2. */
function longestZeros(groups) {
	let best = [0, 0];
	for (let from = 0; from < 8; from++) {
		let to = from;
		while (to < 8 && groups[to] === 0) to++;
		if (to - from > best[1] - best[0]) best = [from, to];
	}
	return best;
}
function parseIpv4(text) {
	const parts = text.split(".");
	if (parts.length !== 4) return void 0;
	const address = /* @__PURE__ */ new Uint8Array(4);
	for (const [i, part] of parts.entries()) {
		if (!/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return void 0;
		address[i] = Number(part);
	}
	return address;
}
function parseIpv6(text) {
	const halves = text.split("::");
	if (halves.length > 2) return void 0;
	const head = groupsOf(halves[0], halves.length === 1);
	const tail = halves.length === 2 ? groupsOf(halves[1], true) : [];
	if (head === void 0 || tail === void 0) return void 0;
	const missing = 8 - head.length - tail.length;
	if (halves.length === 1 ? missing !== 0 : missing < 1) return void 0;
	const groups = [
		...head,
		...new Array(missing).fill(0),
		...tail
	];
	return Uint8Array.from({ length: 16 }, (_, i) => i & 1 ? groups[i >> 1] : groups[i >> 1] >> 8);
}
/** The groups of one side of '::'. The last may be an IPv4 address if it ends the whole text. */
function groupsOf(text, ends) {
	if (text === "") return [];
	const parts = text.split(":");
	const groups = [];
	for (const [i, part] of parts.entries()) {
		if (/^[0-9a-f]{1,4}$/i.test(part)) {
			groups.push(Number.parseInt(part, 16));
			continue;
		}
		const dotted = ends && i === parts.length - 1 ? parseIpv4(part) : void 0;
		if (dotted === void 0) return void 0;
		groups.push(dotted[0] << 8 | dotted[1], dotted[2] << 8 | dotted[3]);
	}
	return groups;
}
// src/wire/psn.ts
/** Packet sequence numbers: 24 bits, compared around the circle. InfiniBand Architecture volume 1, 9.7.1. */
const psnMask = 16777215;
function psnAdd(psn, count) {
	return psn + count & psnMask;
}
/** How far `a` is ahead of `b`: from −2^23 to 2^23 − 1. */
function psnDiff(a, b) {
	return a - b << 8 >> 8;
}
// src/wire/rdma-cm.ts
/**
* What the RDMA CM puts into a REQ or SIDR_REQ: the service id, made from a port space and a port, and the header with
* the IP addresses that the private data begins with (annex A11). A REQ has 56 bytes behind it for the program.
*/
/** Where the fields of the RDMA CM's header are. IPv4 addresses are in the last four bytes of their field. */
const CmaHdr = {
	length: 36,
	version: 0,
	ipVersion: 1,
	port: 2,
	source: 4,
	destination: 20
};
new HeaderCodec("RDMA CM header", CmaHdr.length, {
	version: u8Field(CmaHdr.version),
	ipVersion: bits(CmaHdr.ipVersion, 0, 4),
	port: u16Field(CmaHdr.port),
	source: bytesField(CmaHdr.source, 16),
	destination: bytesField(CmaHdr.destination, 16)
}, (b, at) => {
	if (b[at] !== 0) return "cmaVersion";
	const ipVersion = b[at + CmaHdr.ipVersion] >>> 4;
	return ipVersion === 4 || ipVersion === 6 ? void 0 : "cmaIpVersion";
});
// src/wire/vcrc.ts
/**
* The VCRC, which every InfiniBand packet ends with and every hop recomputes: CRC-16 with polynomial 0x100b, bits
* reflected, from 0xffff, inverted at the end, over all bytes from the LRH to the ICRC. Ethernet's frame check takes its
* place in RoCE. Source: InfiniBand Architecture Specification, volume 1, 7.8.2.
*/
const generator = 53256;
const table$1 = /* @__PURE__ */ new Uint16Array(256);
for (let v = 0; v < 256; v++) {
	let r = v;
	for (let bit = 0; bit < 8; bit++) r = r & 1 ? r >>> 1 ^ generator : r >>> 1;
	table$1[v] = r;
}
// src/verbs/provider/layout.ts
var layout_exports = /* @__PURE__ */ __exportAll({
	Agent: () => Agent,
	Av: () => Av$4,
	Chan: () => Chan$1,
	Cq: () => Cq$1,
	Cqe: () => Cqe$2,
	Ctx: () => Ctx$5,
	Dev: () => Dev$16,
	Journal: () => Journal,
	Key: () => Key$7,
	Mcast: () => Mcast,
	Meta: () => Meta$8,
	Pd: () => Pd,
	PendingList: () => PendingList$1,
	Port: () => Port,
	Qp: () => Qp$24,
	RecentRequest: () => RecentRequest,
	Records: () => Records,
	Rwqe: () => Rwqe$4,
	Service: () => Service,
	Sg: () => Sg$6,
	Srq: () => Srq$4,
	Tables: () => Tables$1,
	Wqe: () => Wqe$14,
	avGlobal: () => 1,
	avMulticast: () => 2,
	counterNames: () => counterNames$1,
	cqState: () => cqState,
	journalStage: () => journalStage,
	keyKind: () => keyKind$1,
	keySlots: () => keySlots,
	line: () => 16,
	maxAgents: () => maxAgents,
	maxChannels: () => maxChannels,
	maxContexts: () => maxContexts,
	maxCqs: () => maxCqs,
	maxDevices: () => 64,
	maxKeys: () => maxKeys,
	maxMcastEntries: () => maxMcastEntries,
	maxPds: () => maxPds,
	maxPorts: () => maxPorts,
	maxQps: () => maxQps,
	maxRecentRequests: () => maxRecentRequests,
	maxServices: () => maxServices,
	maxSrqs: () => maxSrqs,
	packWhat: () => packWhat,
	qpNumberSlots: () => qpNumberSlots,
	recordState: () => recordState,
	statusPurged: () => 255,
	unorderedTables: () => unorderedTables
});
const maxContexts = 1024;
const maxPds = 16384;
const maxChannels = 4096;
const maxSrqs = 4096;
const maxCqs = 65536;
const maxQps = 65536;
/** Slots of the key table, which holds regions and windows; at most half of them are used, so that look-ups stay short. */
const keySlots = 262144;
const maxKeys = 131072;
const maxMcastEntries = 8192;
/** Queue pairs that stand for QP 1, of all devices and threads: see gsi.ts. */
const maxAgents = 1024;
const maxServices = 8192;
/** Requests for shared services that are remembered: a power of two. */
const maxRecentRequests = 1024;
/** IP ports that connection managers have taken: see ports.ts. */
const maxPorts = 65536;
/** Slots of the table from QP numbers to QPs. */
const qpNumberSlots = 2 * maxQps;
/** A device: what all its contexts share. */
const Dev$16 = {
	words: 256,
	state: 0,
	guidHigh: 1,
	guidLow: 2,
	lid: 3,
	ahs: 16,
	mws: 17,
	mrs: 18,
	qkeyViolations: 19,
	badPkeys: 20,
	/** Devices on a network: see transport/ and devices/roce. */
	transport: 32,
	/** Open contexts, and those of them that leave the work to a thread. */
	users: 33,
	threads: 34,
	/** Changes whenever sockets come or go. */
	generation: 35,
	/** What tells it from other devices of its kind. */
	identity: 36,
	/** The table of its sockets. */
	sockets: 41,
	/** 1: only the thread that drives devices does so. */
	alone: 42,
	/** Its middleware as JSON: where, how long, how often there was another, and which was closed last. */
	wraps: 43,
	wrapsBytes: 44,
	wrapsSerial: 45,
	wrapsClosed: 46,
	/** 1: with congestion control. */
	congestion: 47,
	/** 1 when a program has driven it since somebody looked, −1 when it has said that it will not go on. */
	heartbeat: 48,
	/** 1 while the service thread keeps the timers of this one, and waits for its packets unless an event loop does. */
	watched: 49,
	/** The thread that waits in the kernel for packets of this device and then goes on with it, 0 if none does. */
	sleeper: 50,
	/** A thread that waits for packets of this device in its event loop, 0 if none does. */
	looper: 51,
	/** How often threads have waited so. */
	sleeps: 52,
	/** When the sleeper looks at the latest, and when the service thread does. */
	sleepsUntil: 54,
	serviceLooksAt: 56,
	/** Changes when a process begins or ends to use the device, or a user of it has died. */
	changes: 58,
	/** Of a device in the segment of a process: 1 while that process uses the one that processes share. */
	shared: 59,
	/** Counters, one f64 for each name in `counterNames`. */
	counters: 64
};
const Ctx$5 = {
	words: 2048,
	state: 0,
	ref: 1,
	owner: 2,
	engine: 3,
	device: 4,
	/** 1 while the device counts it among its users. */
	uses: 5,
	/** Doorbells of an engine thread: see EngineRing below. */
	doorbellLock: 16,
	doorbellTail: 17,
	doorbellHead: 32,
	doorbellWake: 33,
	eventLock: 48,
	eventTail: 49,
	eventsLost: 50,
	eventHead: 64,
	/** Ring of async events: type, element kind, the element's reference (of a port its number), QP number. */
	events: 128,
	eventSlots: 256,
	doorbellSleeping: 34,
	doorbellStop: 35,
	doorbellReady: 36,
	/** 1 when the ring was full and a doorbell could not be written. */
	doorbellMissed: 37,
	doorbells: 1152,
	doorbellSlots: 512
};
const Pd = {
	words: 16,
	state: 0,
	ref: 1,
	owner: 2,
	mrs: 3,
	mws: 4,
	qps: 5,
	srqs: 6,
	ahs: 7,
	context: 8
};
const Chan$1 = {
	words: 32,
	state: 0,
	ref: 1,
	owner: 2,
	cqs: 3,
	context: 4,
	lock: 16,
	/** References to the first and last CQ with an event to deliver, 0 if there is none. */
	head: 17,
	tail: 18,
	/** Counts events. The thread that waits for them is the owner. */
	sequence: 19
};
const Cq$1 = {
	words: 80,
	state: 0,
	ref: 1,
	ring: 2,
	mask: 3,
	cqe: 4,
	channel: 5,
	context: 6,
	device: 7,
	owner: 8,
	refs: 9,
	singleThreaded: 10,
	/** 1 while it is resized: then no QP counts as its only producer. */
	resizing: 11,
	/** Written by producers, which complete work requests. */
	lock: 16,
	head: 17,
	tailSeen: 18,
	/** Written by the consumer, which polls. */
	pollLock: 32,
	tail: 33,
	/** 0 not armed, 1 solicited, 2 any. */
	armed: 48,
	/** The next CQ (reference) in the list of the channel, and how many events this CQ has in it. */
	next: 64,
	events: 65,
	unacknowledged: 66
};
/** `dead`: destroyed; its owner ended while queue pairs of others used it, and the last of them frees the record. */
const cqState = {
	free: 0,
	live: 1,
	overrun: 2,
	dead: 3
};
/** Of SRQs and PDs; `dead` as for CQs. */
const recordState = {
	free: 0,
	live: 1,
	dead: 3
};
/**
* A completion, one cache line. `sequence` is the ring position plus one and is written last. `what` packs status,
* opcode and flags, a byte each: see `packWhat`.
*/
const Cqe$2 = {
	words: 16,
	sequence: 0,
	what: 1,
	wrId: 2,
	byteLen: 4,
	immData: 5,
	qpNum: 6,
	/** Of a receive: the sender's QP number (UD), else 0. Of a send: the position after it in its queue, which polling releases. */
	srcQpOrReleases: 7,
	qpSlot: 8,
	/** UD: source LID, and the service level in the upper half. */
	slid: 9,
	/** Of a receive: where the receive queue of its QP (`rqTail`) stood after it. */
	rqTail: 10,
	/** Means nothing: a producer on shared memory writes it early, to have the line in time. */
	claim: 11
};
function packWhat(status, opcode, flags) {
	return status | opcode << 8 | flags << 16;
}
const Srq$4 = {
	words: 64,
	state: 0,
	ref: 1,
	context: 2,
	owner: 3,
	refs: 4,
	pd: 5,
	maxWr: 6,
	maxSge: 7,
	ring: 8,
	mask: 9,
	stride: 10,
	limit: 11,
	device: 13,
	postLock: 16,
	head: 17,
	lock: 32,
	tail: 33,
	/** First QP (slot + 1) that waits for a receive here. */
	waiting: 48
};
const Qp$24 = {
	words: 160,
	number: 0,
	ref: 1,
	state: 2,
	device: 3,
	context: 4,
	pd: 5,
	sendCq: 6,
	recvCq: 7,
	srq: 8,
	sqSigAll: 9,
	sqMask: 10,
	sqStride: 11,
	sqRing: 12,
	rqMask: 13,
	rqStride: 14,
	rqRing: 15,
	maxSendWr: 16,
	maxRecvWr: 17,
	maxSendSge: 18,
	maxRecvSge: 19,
	maxInlineData: 20,
	owner: 21,
	engine: 22,
	destQpNum: 23,
	/** Index of the destination device, −1 if the address vector leads nowhere. */
	destDevice: 24,
	accessFlags: 25,
	pathMtu: 26,
	qkey: 27,
	port: 28,
	pkeyIndex: 29,
	mcastRefs: 30,
	type: 31,
	rqPsn: 32,
	sqPsn: 33,
	maxDestRdAtomic: 34,
	maxRdAtomic: 35,
	minRnrTimer: 36,
	timeout: 37,
	retryCnt: 38,
	rnrRetry: 39,
	pathMigState: 40,
	altPkeyIndex: 41,
	altPort: 42,
	altTimeout: 43,
	sqDrainNotify: 44,
	sqDraining: 45,
	/** Slot of the destination QP where it was last found; its number is compared before use. */
	destSlot: 46,
	/** 1 while the doorbell of an engine thread holds this QP. */
	rung: 47,
	/** The send queue: written by threads that post or execute. */
	sqLock: 48,
	sqHead: 49,
	/** Next request to execute. */
	sqNext: 50,
	/** Where the queue stood when SQD was entered: requests from here on wait. */
	sqDrainAt: 51,
	pending: 52,
	retriesLeft: 53,
	rnrLeft: 54,
	/** Nanoseconds of the monotonic clock at which the pending request is tried again. */
	deadline: 56,
	/** Next QP (slot + 1) that waits for the same SRQ. */
	nextWaiting: 58,
	waitingOn: 59,
	/** The one thread (attachment) that may use the send queue without its lock; 0 none yet, −1 none any more. */
	bias: 60,
	/** Requests before this one have been released by polling. */
	sqTail: 64,
	rqPostLock: 80,
	rqHead: 81,
	/** The responder's `rqTail` as last known, from completions or by looking; looked at only when the queue looks full. */
	rqTailSeen: 82,
	/** The responder: written by the thread that executes a request of the peer. */
	rqLock: 96,
	rqTail: 97,
	lastWqe: 99,
	/** A QP (slot + 1) whose request waits for a receive here: read with every receive posted, written hardly ever. */
	rqWaiting: 112,
	/** Word of what the device keeps for this QP behind its queues (`Device.qpWords`). */
	wire: 124,
	av: 128,
	altAv: 144,
	/** GSI: its place in the table of agents, plus one. */
	agent: 156
};
/** An address vector as a QP or a UD request keeps it. */
const Av$4 = {
	words: 12,
	device: 0,
	dlid: 1,
	sl: 2,
	flags: 3,
	trafficClass: 4,
	hopLimit: 5,
	flowLabel: 6,
	sgidIndex: 7,
	gid: 8
};
/** A send work request in its queue; scatter/gather elements or inline data follow the header. */
const Wqe$14 = {
	opcode: 0,
	flags: 1,
	wrId: 2,
	immData: 4,
	sges: 5,
	inlineLength: 6,
	rkey: 7,
	remoteAddr: 8,
	length: 10,
	compareAdd: 12,
	swap: 14,
	remoteQpn: 16,
	remoteQkey: 17,
	access: 18,
	mrKey: 19,
	av: 20,
	data: 32
};
/** A receive work request: header, then scatter/gather elements. */
const Rwqe$4 = {
	wrId: 0,
	sges: 2,
	data: 4
};
const Sg$6 = {
	words: 4,
	addr: 0,
	length: 2,
	lkey: 3
};
/** An entry of the key table. The upper 24 bits of the key choose the slot where the search begins. */
const Key$7 = {
	words: 16,
	key: 0,
	kind: 1,
	pd: 2,
	access: 3,
	addr: 4,
	length: 6,
	iova: 8,
	/** Of a window: slot of the region it is bound to, or −1. Of a region: number of windows bound to it. */
	region: 10,
	qp: 11,
	owner: 12,
	valid: 13,
	device: 14,
	/** Of a window: the key of the region it is bound to, which tells it from another in the same slot. */
	regionKey: 15
};
const keyKind$1 = {
	free: 0,
	region: 1,
	window1: 2,
	window2: 3,
	deleted: 4
};
/** What the holder of a device's lock is about to do that may be done only once: see journal.ts. */
const Journal = {
	/** Written last when something begins, 0 when it is done. */
	stage: 0,
	/** A reference to the QP. */
	qp: 1,
	/** Where its queue stands afterwards: `sqNext` or `rqTail`. Of a window: the index of the request. */
	queue: 2,
	/** The completion: its sequence, and what is in it. */
	sequence: 3,
	what: 4,
	byteLen: 5,
	immData: 6,
	srcQpOrReleases: 7,
	wrId: 8,
	solicited: 10,
	/** The entry of a window, the key that it had, and the slot of the region that it was bound to, or −1. */
	window: 11,
	windowKey: 12,
	windowRegion: 13,
	words: 16
};
const journalStage = {
	none: 0,
	packet: 1,
	receive: 2,
	send: 3,
	window: 4,
	atomic: 5
};
const Mcast = {
	words: 8,
	state: 0,
	device: 1,
	qpSlot: 2,
	qpNum: 3,
	gid: 4
};
/** A queue pair of type GSI: one of those that share QP 1 of their device. `qpNum` is 0 while the record is free. */
const Agent = {
	words: 16,
	qpNum: 0,
	device: 1,
	qpSlot: 2
};
/** A service ID for which an agent takes requests; agents that give the same `group`, not 0, share it. */
const Service = {
	words: 16,
	state: 0,
	agent: 1,
	qpNum: 2,
	device: 3,
	idHigh: 4,
	idLow: 5,
	maskHigh: 6,
	maskLow: 7,
	group: 8,
	/** Of the first agent of a group: which of them gets the next request. */
	turn: 9
};
/** To which agent, by the number of its queue pair, a request for a shared service went; `key` names the request. */
const RecentRequest = {
	words: 2,
	key: 0,
	qpNum: 1
};
/** An IP port of a port space that somebody has, and the chain of those with the same number. */
const Port = {
	words: 16,
	state: 0,
	ref: 1,
	space: 2,
	port: 3,
	next: 4,
	reuse: 5,
	listening: 6,
	owner: 7,
	gid: 8,
	/** Not 0: listeners in other threads that give the same number share the port. */
	group: 12
};
/** The list of QPs whose head request waits for a time or for the peer. */
const PendingList$1 = {
	lock: 0,
	count: 16,
	list: 32
};
/** Words at the start of the tables. */
const Meta$8 = {
	initialised: 0,
	mcastHigh: 1,
	keysUsed: 2,
	qpsUsed: 3,
	cqsUsed: 4,
	srqsUsed: 5,
	pdsUsed: 6,
	channelsUsed: 7,
	contextsUsed: 8,
	agentsUsed: 10,
	servicesUsed: 11,
	portsUsed: 12,
	/** The thread that drives devices on sockets while programs do not: see devices/roce/service.ts. */
	serviceOwner: 16,
	/** Counts what it is woken for. */
	serviceWake: 18,
	/** When it looks whether programs still drive their devices. */
	serviceLooksAt: 20,
	/** 1 when the process ends, 2 when the thread has done what it had to. */
	serviceStop: 22,
	/** Counts where it begins and ends to wait in the kernel: odd while it may be there. */
	serviceTurns: 23,
	/** Where the search for a free record begins, for each table in `Records`. */
	hints: 32
};
let slotWords = 0;
let recordKinds = 0;
/**
* The tables whose records are taken and given back. Word 0 of a record is 0 while it is free, word 1 (`ref`) is its name:
* see records.ts. `high` and `hint` are words of `Meta`: how many records were ever in use, and where the search for a free
* one begins. `locks` are words that stay as they are when a record is used again, since a thread that remembers its
* former object may hold one for a moment.
*/
const Records = {
	context: record("contexts", Ctx$5.words, maxContexts, Meta$8.contextsUsed, [Ctx$5.doorbellLock, Ctx$5.eventLock]),
	pd: record("pds", Pd.words, maxPds, Meta$8.pdsUsed, []),
	channel: record("channels", Chan$1.words, maxChannels, Meta$8.channelsUsed, [Chan$1.lock]),
	srq: record("srqs", Srq$4.words, maxSrqs, Meta$8.srqsUsed, [Srq$4.postLock, Srq$4.lock]),
	cq: record("cqs", Cq$1.words, maxCqs, Meta$8.cqsUsed, [Cq$1.lock, Cq$1.pollLock]),
	qp: record("qps", Qp$24.words, maxQps, Meta$8.qpsUsed, [
		Qp$24.sqLock,
		Qp$24.rqPostLock,
		Qp$24.rqLock
	]),
	port: record("ports", Port.words, maxPorts, Meta$8.portsUsed, [])
};
function record(table, words, max, high, locks) {
	const bits = slotWords;
	slotWords += max / 32;
	return {
		table,
		words,
		max,
		high,
		hint: Meta$8.hints + recordKinds++,
		bits,
		locks
	};
}
/** First word of each table from the start of the static area, in order; `words` is their total. */
function tables() {
	let words = 0;
	const place = (count, each) => {
		const at = words;
		words += Math.ceil(count * each / 16) * 16;
		return at;
	};
	return {
		meta: place(1, 64),
		devices: place(64, Dev$16.words),
		contexts: place(maxContexts, Ctx$5.words),
		pds: place(maxPds, Pd.words),
		channels: place(maxChannels, Chan$1.words),
		srqs: place(maxSrqs, Srq$4.words),
		cqs: place(maxCqs, Cq$1.words),
		qps: place(maxQps, Qp$24.words),
		qpNumbers: place(qpNumberSlots, 1),
		keys: place(keySlots, Key$7.words),
		mcast: place(maxMcastEntries, Mcast.words),
		agents: place(maxAgents, Agent.words),
		services: place(maxServices, Service.words),
		recentRequests: place(maxRecentRequests, RecentRequest.words),
		portHeads: place(65536, 1),
		ports: place(maxPorts, Port.words),
		pending: place(1, PendingList$1.list + maxQps),
		/** A bit for each record of each table in `Records` that is in use. */
		slots: place(1, slotWords),
		/** All of them together. */
		words
	};
}
const Tables$1 = tables();
/**
* Tables that are found through hashes, or have no high-water mark: byte offsets and lengths. A segment has memory for them
* from the beginning, for the records of the others as they come into use (`takeRecord`).
*/
function unorderedTables() {
	const range = (from, to) => [Tables$1[from] * 4, (Tables$1[to] - Tables$1[from]) * 4];
	return [
		range("meta", "contexts"),
		range("qpNumbers", "ports"),
		range("pending", "words")
	];
}
const counterNames$1 = [
	"remote_access_errors",
	"remote_invalid_requests",
	"resp_remote_access_errors",
	"local_errors",
	"uc_drops_no_receive",
	"uc_drops_access",
	"uc_drops_length",
	"ud_drops_no_receive",
	"ud_drops_qkey",
	"ud_drops_length",
	"cq_overruns",
	"events_lost",
	"stale_objects_reaped",
	"service_failures",
	"takeovers",
	"sent_pkts",
	"rcvd_pkts",
	"duplicate_request",
	"out_of_seq_request",
	"rcvd_rnr_err",
	"send_rnr_err",
	"rcvd_seq_err",
	"ack_deferred",
	"retry_exceeded_err",
	"retry_rnr_exceeded_err",
	"completer_retry_err",
	"send_err",
	"rdma_sends",
	"rdma_recvs",
	"sent_bytes",
	"rcvd_bytes",
	"retransmitted_pkts",
	"timeouts",
	"early_retransmits",
	"naks_sent",
	"naks_rcvd",
	"cnps_sent",
	"cnps_rcvd",
	"ecn_marked",
	"icrc_errors",
	"drops_malformed",
	"drops_opcode",
	"drops_pkey",
	"drops_no_qp",
	"drops_qp_state",
	"drops_source",
	"drops_unexpected_ack",
	"drops_duplicate_unknown",
	"drops_nak_pending",
	"drops_uc_sequence",
	"drops_no_path",
	"drops_socket_buffer",
	"gsi_drops_malformed",
	"gsi_drops_no_agent",
	"cm_drops_source",
	"cm_drops_unknown_id",
	"cm_drops_unexpected",
	"cm_drops_qpn",
	"cm_drops_backlog",
	"cm_drops_limit",
	"cm_drops_moved",
	"cm_drops_malformed",
	"cm_drops_queue",
	"cm_sends_dropped",
	"cm_requests_evicted",
	"cm_timeouts",
	"injected_losses",
	"injected_duplicates",
	"injected_corruptions",
	"injected_delays",
	"injected_reorderings"
];
// src/verbs/provider/shared-services.ts
var Sharers = class {
	#host;
	/** First words of the queue pairs of the agents. */
	#agents = new Int32Array(maxAgents);
	/** The record of the first one's service, which keeps whose turn it is. */
	#service = 0;
	constructor(host) {
		this.#host = host;
	}
	put(i, q, service) {
		if (i === 0) this.#service = service;
		this.#agents[i] = q;
	}
	/** Of `count` agents that were put here the first; −1 without any. */
	first(count) {
		return count > 0 ? this.#agents[0] : -1;
	}
	/** Of `count` agents that were put here the one that gets the request with this key. */
	choose(count, key) {
		const { i32, at } = this.#host;
		const recent = at.recentRequests + (key & 1023) * RecentRequest.words;
		if (i32[recent + RecentRequest.key] === key) {
			const number = i32[recent + RecentRequest.qpNum];
			for (let i = 0; i < count; i++) if (i32[this.#agents[i] + Qp$24.number] === number) return this.#agents[i];
		}
		const chosen = this.#next(count);
		i32[recent + RecentRequest.key] = key;
		i32[recent + RecentRequest.qpNum] = i32[chosen + Qp$24.number];
		return chosen;
	}
	#next(count) {
		const { i32, segment } = this.#host;
		const turn = (i32[this.#service + Service.turn] >>> 0) % count;
		let chosen = turn;
		let fewest = Number.POSITIVE_INFINITY;
		for (let k = 0; k < count && fewest > 0; k++) {
			const i = (turn + k) % count;
			const q = this.#agents[i];
			const unread = unreadBy(this.#host, q);
			if (unread >= fewest || !segment.attachmentAlive(i32[q + Qp$24.owner])) continue;
			chosen = i;
			fewest = unread;
		}
		i32[this.#service + Service.turn] = chosen + 1;
		return this.#agents[chosen];
	}
};
/** Messages that wait in the completion queue of an agent; in the middle of a change it may be a wrong number. */
function unreadBy(host, q) {
	const { i32 } = host;
	const cq = host.cqWord(i32[q + Qp$24.recvCq]);
	return i32[cq + Cq$1.head] - i32[cq + Cq$1.tail] >>> 0;
}
// src/verbs/provider/gsi.ts
/**
* QP 1, the general services interface, over which management datagrams (MADs) travel. An adapter has one; here each
* connection manager, in whatever thread or process, makes a queue pair of type GSI, and they share it:
*
*     out    a message says that it comes from QP 1 (DETH on the wire, `wc.srcQp`), with the Q_Key of QP 1
*     in     a message for QP 1 of a device goes to the GSI queue pair that it is meant for
*
* The message itself determines its recipient (InfiniBand Architecture volume 1, 12.6):
*
*     REQ, SIDR_REQ       service ID: the agent that has registered it (`registerService`); of several that share it one
*                         (shared-services.ts)
*     SIDR_REP            the request ID, which the requester has chosen
*     all others          the communication ID of the receiving side
*     REJ without that    all agents: it ends an attempt whose REQ may not have arrived
*
* The IDs that an agent chooses begin with its slot in the table of agents (`commIdOf`). A message for no agent goes to the
* first agent of the device that has read all that it has got, which rejects it as an adapter would; without any agent it is
* dropped and counted.
*/
/** The Q_Key of QP 1 (10.2.5). */
const gsiQkey = 2147549184;
/** Bits of a communication ID below the slot of its agent. */
const idBits = 22;
/** Bytes of a MAD that determine its recipient. */
const madDispatchBytes = Mad.length + 16;
/** Offsets of what comes behind the MAD header. */
const serviceIdAt = Mad.length + 8;
const remoteCommIdAt = Mad.length + 4;
const requestIdAt = Mad.length;
function takeAgent(host) {
	const { i32, at } = host;
	const used = at.meta + Meta$8.agentsUsed;
	for (let slot = 1; slot < Math.max(1, i32[used]); slot++) if (i32[agentWord(host, slot)] === 0) return slot;
	const slot = Math.max(1, i32[used]);
	if (slot >= 1024) throw new VerbsError("ENOMEM", "createQp", `all 1023 GSI queue pairs of the segment are in use`);
	i32[used] = slot + 1;
	return slot;
}
/** Makes the agent of a GSI queue pair known, now that it has a number. */
function nameAgent(host, q) {
	const { i32 } = host;
	const agent = agentWord(host, i32[q + Qp$24.agent] - 1);
	i32[agent + Agent.device] = i32[q + Qp$24.device];
	i32[agent + Agent.qpSlot] = host.qpSlot(q);
	Atomics.store(i32, agent + Agent.qpNum, i32[q + Qp$24.number]);
}
/** Removes the agent and all its services from the tables. */
function dropAgent(host, q) {
	const { i32, at } = host;
	const slot = i32[q + Qp$24.agent] - 1;
	if (slot < 0) return;
	for (let i = 0; i < i32[at.meta + Meta$8.servicesUsed]; i++) {
		const service = at.services + i * Service.words;
		if (i32[service + Service.state] === 1 && i32[service + Service.agent] === slot) Atomics.store(i32, service + Service.state, 0);
	}
	Atomics.store(i32, agentWord(host, slot) + Agent.qpNum, 0);
	tellAgents(host);
}
/** The others get an event, so that they look for connections to the agent that has ended. */
function tellAgents(host) {
	const { i32, at } = host;
	for (let slot = 1; slot < i32[at.meta + Meta$8.agentsUsed]; slot++) {
		const agent = agentWord(host, slot);
		const number = Atomics.load(i32, agent + Agent.qpNum);
		if (number === 0) continue;
		const q = host.qpWord(i32[agent + Agent.qpSlot]);
		if (i32[q + Qp$24.number] === number) host.wakeChannel(host.cqWord(i32[q + Qp$24.recvCq]));
	}
}
function agentWord(host, slot) {
	return host.at.agents + slot * Agent.words;
}
/** Finds for a device the queue pairs that a message for QP 1 is meant for. */
var GsiDispatch = class {
	/** First words of the queue pairs that `find` found. */
	targets = new Int32Array(maxAgents);
	#host;
	#sharers;
	constructor(host) {
		this.#host = host;
		this.#sharers = new Sharers(host);
	}
	/** The MAD u8[at, at + length), of which `madDispatchBytes` can be read; how many `targets` there are. Counts drops. */
	find(device, u8, at, length) {
		const host = this.#host;
		if (length !== Mad.totalLength || u8[at + Mad.baseVersion] !== 1 || u8[at + Mad.mgmtClass] !== MgmtClass.comm || u8[at + Mad.method] !== MadMethod.send) {
			host.count(device, "gsi_drops_malformed");
			return 0;
		}
		const attribute = u16(u8, at + Mad.attributeId);
		let q = -1;
		if (attribute === CmAttribute.REQ || attribute === CmAttribute.SIDR_REQ) q = this.#service(device, u8, at);
		else {
			const id = u32(u8, at + (attribute === CmAttribute.SIDR_REP ? requestIdAt : remoteCommIdAt));
			if (id === 0 && attribute === CmAttribute.REJ) return this.#all(device);
			q = agentOf(host, device, id >>> idBits);
		}
		if (q < 0) q = this.#first(device);
		if (q < 0) {
			host.count(device, "gsi_drops_no_agent");
			return 0;
		}
		this.targets[0] = q;
		return 1;
	}
	/** The agent that gets a request, −1 if nobody takes requests for its service. */
	#service(device, u8, at) {
		const count = this.#servers(device, u32(u8, at + serviceIdAt) | 0, u32(u8, at + serviceIdAt + 4) | 0);
		return count > 1 ? this.#sharers.choose(count, requestKey(u8, at)) : this.#sharers.first(count);
	}
	/** Finds the agents that take requests for a service ID: one, or those that share it. How many there are. */
	#servers(device, high, low) {
		const { i32, at } = this.#host;
		let count = 0;
		for (let i = 0; i < i32[at.meta + Meta$8.servicesUsed]; i++) {
			const s = at.services + i * Service.words;
			const q = serverOf(this.#host, s, device, high, low);
			if (q < 0) continue;
			this.#sharers.put(count++, q, s);
			if (i32[s + Service.group] === 0) break;
		}
		return count;
	}
	/** The first agent that has nothing left to read, or else the one with the least; −1 without any. */
	#first(device) {
		const host = this.#host;
		let found = -1;
		let fewest = Number.POSITIVE_INFINITY;
		for (let slot = 1; slot < host.i32[host.at.meta + Meta$8.agentsUsed] && fewest > 0; slot++) {
			const q = agentOf(host, device, slot);
			if (q < 0) continue;
			const unread = unreadBy(host, q);
			if (unread >= fewest) continue;
			found = q;
			fewest = unread;
		}
		return found;
	}
	#all(device) {
		const host = this.#host;
		let count = 0;
		for (let slot = 1; slot < host.i32[host.at.meta + Meta$8.agentsUsed]; slot++) {
			const q = agentOf(host, device, slot);
			if (q >= 0) this.targets[count++] = q;
		}
		if (count === 0) host.count(device, "gsi_drops_no_agent");
		return count;
	}
};
/** What tells a request from others: its transaction and its sender's communication ID. */
function requestKey(u8, at) {
	const transaction = u32(u8, at + Mad.transactionId) ^ Math.imul(u32(u8, at + Mad.transactionId + 4), 2654435761);
	const key = Math.imul(transaction ^ u32(u8, at + requestIdAt), 2246822507);
	return key ^ key >>> 15;
}
/** The queue pair of the agent that takes requests for a service ID if this record says so, else −1. */
function serverOf(host, s, device, high, low) {
	const { i32 } = host;
	if (i32[s + Service.state] !== 1 || i32[s + Service.device] !== device) return -1;
	if (((i32[s + Service.idHigh] ^ high) & i32[s + Service.maskHigh]) !== 0) return -1;
	if (((i32[s + Service.idLow] ^ low) & i32[s + Service.maskLow]) !== 0) return -1;
	const q = agentOf(host, device, i32[s + Service.agent]);
	return q >= 0 && i32[q + Qp$24.number] === i32[s + Service.qpNum] ? q : -1;
}
/** The queue pair of an agent, −1 if there is none or it is another device's. */
function agentOf(host, device, slot) {
	const { i32 } = host;
	if (slot >= 1024) return -1;
	const agent = agentWord(host, slot);
	const number = Atomics.load(i32, agent + Agent.qpNum);
	if (number === 0 || i32[agent + Agent.device] !== device) return -1;
	const q = host.qpWord(i32[agent + Agent.qpSlot]);
	return i32[q + Qp$24.number] === number ? q : -1;
}
// src/verbs/provider/gid.ts
/** GIDs (16 bytes) as addresses of multicast groups, and in the tables of a segment. */
/** IPv6 multicast, or the form that RoCEv2 gives a group of IPv4: ::ffff:224.0.0.0 and above. */
function isMulticastGid(gid) {
	return gid[0] === 255 || isIpv4Gid(gid) && gid[12] >> 4 === 14;
}
/** Whether the GID that begins at word `word` is `gid`. */
function sameGid(i32, word, gid) {
	return new Uint8Array(i32.buffer, word * 4, 16).every((byte, i) => byte === gid[i]);
}
/** Writes a GID at word `word`. */
function writeGid(i32, word, gid) {
	new Uint8Array(i32.buffer, word * 4, 16).set(gid);
}
// src/verbs/provider/device.ts
const drivers = [];
/** Makes a kind of device known; the front door does so for all that it ships. */
function registerDriver(driver) {
	if (!drivers.includes(driver)) drivers.push(driver);
}
/** `ibv_get_device_list`: the devices that there are now. A name that is not listed may be opened all the same: `shm:NAME` makes a segment. */
function getDeviceList() {
	return drivers.flatMap((driver) => driver.list());
}
/** The device with record `index` in the segment of `host`, for cleaning up after a thread; null where memory is all that a device has. */
function deviceAt(host, index) {
	for (const driver of drivers) {
		const device = driver.at?.(host, index);
		if (device) return device;
	}
	return null;
}
/** Opens a device by name; ENODEV with the names that there are. */
function findDevice(name, options) {
	for (const driver of drivers) {
		const device = driver.open(name, options);
		if (device) return device;
	}
	throw new VerbsError("ENODEV", "openDevice", `there is no device '${name}'; there are ${getDeviceList().map((info) => info.name).join(", ") || "none"}`);
}
// src/verbs/provider/multicast.ts
/** The table of multicast groups: which queue pairs are attached to each. */
/**
* Attaches the QP at `q` to a group, of which `most` QPs may be; `check` throws if the QP was closed meanwhile. EINVAL if it is
* attached already, ENOMEM if the group or the table is full.
*/
function joinMcastGroup(host, q, gid, most, check) {
	const { i32, at } = host;
	const slot = host.qpSlot(q);
	host.control(() => {
		check();
		let free = -1;
		let groupQps = 0;
		const high = i32[at.meta + Meta$8.mcastHigh];
		for (let i = 0; i < high; i++) {
			const m = at.mcast + i * Mcast.words;
			if (i32[m + Mcast.state] === 0) free = free < 0 ? m : free;
			else if (sameGid(i32, m + Mcast.gid, gid)) {
				if (i32[m + Mcast.qpSlot] === slot) throw new VerbsError("EINVAL", "attachMcast", "this QP is attached to the group already");
				groupQps++;
			}
		}
		if (groupQps >= most) throw new VerbsError("ENOMEM", "attachMcast", `the group has ${groupQps} QPs, which is the limit`);
		if (free < 0) {
			if (high >= 8192) throw new VerbsError("ENOMEM", "attachMcast", `all ${maxMcastEntries} multicast entries are in use`);
			free = at.mcast + high * Mcast.words;
			i32[at.meta + Meta$8.mcastHigh] = high + 1;
		}
		writeGid(i32, free + Mcast.gid, gid);
		i32[free + Mcast.device] = i32[q + Qp$24.device];
		i32[free + Mcast.qpSlot] = slot;
		i32[free + Mcast.qpNum] = i32[q + Qp$24.number];
		Atomics.store(i32, free + Mcast.state, 1);
		i32[q + Qp$24.mcastRefs] = i32[q + Qp$24.mcastRefs] + 1;
	});
}
/** Detaches the QP at `q` from a group; false if it was not attached. */
function leaveMcastGroup(host, q, gid) {
	const { i32, at } = host;
	const slot = host.qpSlot(q);
	return host.control(() => {
		for (let i = 0; i < i32[at.meta + Meta$8.mcastHigh]; i++) {
			const m = at.mcast + i * Mcast.words;
			if (i32[m + Mcast.state] !== 1 || i32[m + Mcast.qpSlot] !== slot || !sameGid(i32, m + Mcast.gid, gid)) continue;
			Atomics.store(i32, m + Mcast.state, 0);
			i32[q + Qp$24.mcastRefs] = i32[q + Qp$24.mcastRefs] - 1;
			return true;
		}
		return false;
	});
}
/** Detaches a QP that is being destroyed from all groups, under the control lock; their GIDs. */
function leaveMcastGroups(host, q) {
	const { i32, at } = host;
	const slot = host.qpSlot(q);
	const gids = [];
	for (let i = 0; i < i32[at.meta + Meta$8.mcastHigh]; i++) {
		const m = at.mcast + i * Mcast.words;
		if (i32[m + Mcast.state] !== 1 || i32[m + Mcast.qpSlot] !== slot) continue;
		gids.push(host.u8.slice((m + Mcast.gid) * 4, (m + Mcast.gid) * 4 + 16));
		Atomics.store(i32, m + Mcast.state, 0);
	}
	return gids;
}
/**
* The QP that entry `index` of the table attaches to the group whose GID is at `gid[at]`, four words as in memory, if its
* device is one from `firstDevice` to before `endDevice`; else −1.
*/
function mcastMember(host, index, gid, at, firstDevice, endDevice) {
	const { i32 } = host;
	const m = host.at.mcast + index * Mcast.words;
	const device = i32[m + Mcast.device];
	if (i32[m + Mcast.state] !== 1 || device < firstDevice || device >= endDevice) return -1;
	const own = m + Mcast.gid;
	for (let word = 0; word < 4; word++) if (i32[own + word] !== gid[at + word]) return -1;
	const q = host.qpWord(i32[m + Mcast.qpSlot]);
	return i32[q + Qp$24.number] === i32[m + Mcast.qpNum] ? q : -1;
}
// src/verbs/provider/qp-numbers.ts
const tombstone = -1;
/** Gives a QP an unpredictable number, under the control lock. */
function assignQpNumber(host, slot) {
	const { i32, at } = host;
	for (;;) {
		const number = host.platform.randomInt(16, 16777215);
		if (host.findQp(number) >= 0) continue;
		let index = number & 131071;
		while (i32[at.qpNumbers + index] > 0) index = index + 1 & 131071;
		i32[at.qpNumbers + index] = slot + 1;
		Atomics.store(i32, host.qpWord(slot) + Qp$24.number, number);
		return number;
	}
}
/** Takes the number of a QP that is being destroyed out of the table, under the control lock. */
function forgetQpNumber(host, slot) {
	const { i32 } = host;
	const number = i32[host.qpWord(slot) + Qp$24.number];
	const base = host.at.qpNumbers;
	let at = number & 131071;
	while (i32[base + at] !== slot + 1) {
		if (i32[base + at] === 0) return;
		at = at + 1 & 131071;
	}
	i32[base + at] = tombstone;
	if (i32[base + (at + 1 & 131071)] === 0) while (i32[base + at] === tombstone) {
		i32[base + at] = 0;
		at = at - 1 + qpNumberSlots & 131071;
	}
}
// src/verbs/provider/records.ts
/**
* Records of the tables in a segment, and how they are named. A record changes hands: what is kept across a time in which
* that may happen (a handle, an event, an entry of a channel's list) is not its slot but a reference:
*
*     bits 0–15    slot
*     bits 16–31   generation: odd while the record is in use, and another for each use; so a reference is never 0
*
* The record holds its own reference in word 1, so that one comparison tells whether a reference is stale. It changes
* when the object begins to be destroyed; the record is free, and may be taken again, only when nothing uses it any more.
*
*     free ──takeRecord──▶ in use ──retire──▶ in use, but references are stale ──giveRecord──▶ free
*
* `takeRecord`, `retire`, `giveRecord` and `repairRecords` are called under the control lock. Word 0 of a record is 0 while it is free; it is
* written in the same critical section as the bit of the table, so that what a thread that died in between left can be
* told (`repairRecords`).
*/
/** Word of each record that holds its reference. */
const refWord = 1;
/**
* Slots that are used in turn before one is used again, as long as so many are free: an old reference then meets its
* generation again only after 2^15 times as many objects.
*/
const rotation = 256;
const whats = {
	context: "contexts",
	pd: "protection domains",
	channel: "completion channels",
	srq: "shared receive queues",
	cq: "completion queues",
	qp: "queue pairs",
	port: "ports"
};
function slotOf(ref) {
	return ref & 65535;
}
/** Whether the record at `word` is not, or no more, that of the object that `ref` names. */
function isStale(tables, word, ref) {
	return tables.i32[word + refWord] !== ref || (ref & 65536) === 0;
}
/** First word of the record that `ref` names, or `stale`. */
function recordOf$1(tables, kind, ref) {
	const { table, words } = Records[kind];
	const word = tables.at[table] + slotOf(ref) * words;
	return isStale(tables, word, ref) ? -1 : word;
}
/** The record that a handle names, perhaps another thread's; EINVAL if it is none, or its object is gone. */
function recordOfHandle(tables, verb, kind, handle) {
	const given = handle;
	if (typeof given !== "object" || given === null || given.kind !== kind) throw new VerbsError("EINVAL", verb, `this is not a handle of kind '${kind}'`);
	const { ref } = given;
	const used = tables.i32[tables.at.meta + Records[kind].high];
	const word = typeof ref === "number" && (ref | 0) === ref && slotOf(ref) < used ? recordOf$1(tables, kind, ref) : -1;
	if (word === -1) throw new VerbsError("EINVAL", verb, `the object of this handle is closed, or never was`);
	return word;
}
/** Takes a free record of a table, cleared but for its locks; its first word. ENOMEM if all are in use. */
function takeRecord(tables, kind, verb) {
	const { i32, at } = tables;
	const { table, words, max, high, hint, bits, locks } = Records[kind];
	const first = at.slots + bits;
	const used = i32[at.meta + high];
	let slot = freeBit(i32, first, Math.min(max, Math.max(used, rotation)), i32[at.meta + hint]);
	if (slot < 0) slot = freeBit(i32, first, max, used);
	if (slot < 0) throw new VerbsError("ENOMEM", verb, `all ${max} ${whats[kind]} of the segment are in use`);
	const word = at[table] + slot * words;
	if (slot >= used) tables.commitMemory(at[table] + used * words, (slot + 1 - used) * words, verb);
	const ref = slot | ((i32[word + refWord] >>> 16) + 1 | 1) << 16;
	for (let i = 0; i < words; i++) if (!locks.includes(i)) i32[word + i] = 0;
	i32[word + refWord] = ref;
	i32[first + (slot >>> 5)] = i32[first + (slot >>> 5)] | 1 << (slot & 31);
	i32[at.meta + hint] = slot + 1;
	if (slot >= used) i32[at.meta + high] = slot + 1;
	return word;
}
/**
* A new object with `ringBytes` of memory of its own, under the control lock: `fill` writes its record, word 0 last. If
* anything throws, nothing stays.
*/
function createRecord(tables, kind, verb, ringBytes, fill) {
	const { segment } = tables;
	const ring = ringBytes > 0 ? tables.allocate(ringBytes, verb) : 0;
	try {
		return tables.control(() => {
			const word = takeRecord(tables, kind, verb);
			try {
				fill(word, ring / 4);
			} catch (error) {
				giveRecord(tables, kind, word);
				throw error;
			}
			return word;
		});
	} catch (error) {
		if (ring > 0) segment.free(ring);
		throw error;
	}
}
/** Makes all references to a record stale. The record stays in use until `giveRecord`. */
function retire(tables, word) {
	const { i32 } = tables;
	const ref = i32[word + refWord];
	if ((ref & 65536) !== 0) Atomics.store(i32, word + refWord, ref + 65536 | 0);
}
/** Frees a record. */
function giveRecord(tables, kind, word) {
	const { i32, at } = tables;
	const { table, words, bits } = Records[kind];
	const slot = (word - at[table]) / words;
	retire(tables, word);
	Atomics.store(i32, word, 0);
	const bit = at.slots + bits + (slot >>> 5);
	i32[bit] = i32[bit] & ~(1 << (slot & 31));
}
/** Takes back the records that threads had taken which died before they could use them. */
function repairRecords(tables) {
	const { i32, at } = tables;
	for (const { table, words, high, bits } of Object.values(Records)) for (let slot = 0; slot < i32[at.meta + high]; slot++) {
		const bit = at.slots + bits + (slot >>> 5);
		const mask = 1 << (slot & 31);
		if (i32[at[table] + slot * words] === 0) i32[bit] = i32[bit] & ~mask;
		else i32[bit] = i32[bit] | mask;
	}
}
/** The first clear bit of [0, count) from `from` on, and then from the start; −1 if all are set. */
function freeBit(i32, first, count, from) {
	const start = from < count ? from : 0;
	const words = Math.ceil(count / 32);
	for (let i = 0; i <= words; i++) {
		const index = ((start >>> 5) + i) % words;
		let free = ~i32[first + index];
		if (i === 0) free &= -1 << (start & 31);
		if (free === 0) continue;
		const bit = index * 32 + (31 - Math.clz32(free & -free));
		if (bit < count) return bit;
	}
	return -1;
}
// src/verbs/provider/lifetime.ts
/**
* The end of objects in a segment: how a record, and the memory behind it, is taken out of use while other threads may be
* working with it. Every object goes the same way:
*
*     1. its references become stale, and its state says that it is no more: a thread that comes now finds nothing
*     2. a grace period passes, and its locks are taken once: a thread that came before is done
*     3. its record is freed, as soon as no other object uses it, and then its memory
*
* A thread that dies in the middle leaves the record with its owner, so that what reaps the owner does it all once more. In
* one critical section the record forgets its owner and its memory: memory that was freed once is never freed again, since
* it may be another's by then; if the thread dies before that, it goes with the memory of its owner.
*
* An owner may close a CQ, an SRQ or a protection domain only when nothing uses it. If it ends without closing, objects of
* other threads may do so: queue pairs that complete to such a CQ, or receive from such an SRQ, go to ERR with QP_FATAL;
* in a protection domain whose owner ended, what there is goes on. The record stays until the last of them is closed.
*/
/** The owner of what is only kept for others. */
const nobody$3 = 0;
/** Frees a QP's record and rings and takes it out of every list. */
function destroyQp(host, q) {
	const { i32, segment } = host;
	const qpNum = i32[q + Qp$24.number];
	const slot = host.qpSlot(q);
	let groups = [];
	host.setState(q, QpState.Reset);
	host.control(() => {
		retire(host, q);
		if (i32[q + Qp$24.type] === QpType.GSI) dropAgent(host, q);
		forgetQpNumber(host, slot);
		groups = leaveMcastGroups(host, q);
	});
	if (groups.length > 0) {
		const device = deviceAt(host, i32[q + Qp$24.device]);
		for (const gid of groups) device?.leaveGroup(gid);
	}
	segment.quiesce();
	segment.lock(q + Qp$24.rqLock);
	segment.unlock(q + Qp$24.rqLock);
	host.lockSends(q);
	segment.unlock(q + Qp$24.sqLock);
	host.stopWaiting(q);
	const pending = host.at.pending;
	segment.lock(pending + PendingList$1.lock);
	for (let i = 0; i < i32[pending + PendingList$1.count]; i++) {
		if (i32[pending + PendingList$1.list + i] !== slot) continue;
		const last = i32[pending + PendingList$1.count] - 1;
		i32[pending + PendingList$1.list + i] = i32[pending + PendingList$1.list + last];
		i32[pending + PendingList$1.count] = last;
		break;
	}
	segment.unlock(pending + PendingList$1.lock);
	const sendCq = host.cqWord(i32[q + Qp$24.sendCq]);
	const recvCq = host.cqWord(i32[q + Qp$24.recvCq]);
	host.purgeCompletions(sendCq, qpNum);
	if (recvCq !== sendCq) host.purgeCompletions(recvCq, qpNum);
	const ring = i32[q + Qp$24.sqRing];
	host.control(() => {
		giveRecord(host, "qp", q);
		releaseShared(host, "cq", sendCq);
		releaseShared(host, "cq", recvCq);
		if (i32[q + Qp$24.srq] >= 0) releaseShared(host, "srq", host.srqWord(i32[q + Qp$24.srq]));
		releasePd(host, i32[q + Qp$24.pd], Pd.qps);
	});
	segment.free(ring * 4);
}
/** Ends the QPs for which `uses` is true: their owners live, but a CQ or SRQ that they need is no more. No lock is held. */
function endUsers(host, uses) {
	const { i32, at, segment } = host;
	for (let slot = 0; slot < i32[at.meta + Meta$8.qpsUsed]; slot++) {
		const q = host.qpWord(slot);
		if (i32[q + Qp$24.number] === 0 || !uses(q)) continue;
		const ref = i32[q + Qp$24.ref];
		if (host.breakQp(q, QpState.Err)) host.qpEvent(q, EventType.QpFatal);
		segment.quiesce();
		host.flushBroken(ref);
	}
}
/** What CQs and SRQs have in common: queues that queue pairs use, whose record stays until the last of those is closed. */
const shared = {
	cq: {
		ref: Cq$1.ref,
		state: Cq$1.state,
		refs: Cq$1.refs,
		ring: Cq$1.ring,
		owner: Cq$1.owner,
		locks: [Cq$1.pollLock, Cq$1.lock]
	},
	srq: {
		ref: Srq$4.ref,
		state: Srq$4.state,
		refs: Srq$4.refs,
		ring: Srq$4.ring,
		owner: Srq$4.owner,
		locks: [Srq$4.postLock, Srq$4.lock]
	}
};
const sharedKinds = ["cq", "srq"];
/** The state of a CQ or SRQ that is destroyed while its record stays. */
const dead = recordState.dead;
/** Frees a CQ's record and ring; how many queues still use it: then nothing was done, unless its owner ended (`orphan`). */
function destroyCq(host, cq, orphan) {
	const { i32 } = host;
	return destroyShared(host, "cq", cq, orphan, {
		unlink(ref) {
			const channel = i32[cq + Cq$1.channel];
			if (channel >= 0) Atomics.sub(i32, host.chanWord(channel) + Chan$1.cqs, 1);
			host.dropChannelEvents(cq, ref);
		},
		uses: (q, slot) => i32[q + Qp$24.sendCq] === slot || i32[q + Qp$24.recvCq] === slot
	});
}
/** Frees an SRQ's record and ring; as `destroyCq`. */
function destroySrq(host, srq, orphan) {
	const { i32 } = host;
	return destroyShared(host, "srq", srq, orphan, {
		uses: (q, slot) => i32[q + Qp$24.srq] === slot,
		release: () => releasePd(host, i32[srq + Srq$4.pd], Pd.srqs)
	});
}
function destroyShared(host, kind, word, orphan, end) {
	const { i32, at, segment } = host;
	const { ref, state, refs, ring, owner, locks } = shared[kind];
	const name = i32[word + ref];
	const users = host.control(() => {
		const users = i32[word + refs];
		if (users > 0 && !orphan) return users;
		retire(host, word);
		Atomics.store(i32, word + state, dead);
		i32[word + refs] = users + 1;
		return users;
	});
	if (users > 0 && !orphan) return users;
	segment.bumpEpoch();
	segment.quiesce();
	for (const lock of locks) {
		segment.lock(word + lock);
		segment.unlock(word + lock);
	}
	end.unlink?.(name);
	if (users > 0) {
		const { table, words } = Records[kind];
		const slot = (word - at[table]) / words;
		endUsers(host, (q) => end.uses(q, slot));
	}
	const memory = i32[word + ring];
	host.control(() => {
		i32[word + ring] = 0;
		i32[word + owner] = nobody$3;
		end.release?.();
		releaseShared(host, kind, word);
	});
	segment.free(memory * 4);
	return 0;
}
/** Frees a protection domain; false if there is something in it. Then nothing was done; that of an `orphan` goes with the last of it. */
function destroyPd(host, pd, orphan) {
	return host.control(() => {
		const used = pdMembers.some((word) => host.i32[pd + word] > 0);
		if (used && !orphan) return false;
		retire(host, pd);
		if (used) {
			host.i32[pd + Pd.state] = recordState.dead;
			host.i32[pd + Pd.owner] = nobody$3;
		} else giveRecord(host, "pd", pd);
		return true;
	});
}
/** What keeps the record of a dead protection domain. Address handles do not: they hold a reference. */
const pdMembers = [
	Pd.mrs,
	Pd.mws,
	Pd.qps,
	Pd.srqs
];
/**
* Recounts what objects use, after a thread ended: it may have died between an object and its count. All counts change
* under the control lock, in one critical section with what they count.
*/
function recount(host) {
	const { i32, at } = host;
	const count = (word, by) => {
		i32[word] = i32[word] + by;
	};
	const each = (kind, visit) => {
		const { table, words, high } = Records[kind];
		for (let slot = 0; slot < i32[at.meta + high]; slot++) {
			const word = at[table] + slot * words;
			if (i32[word] !== 0) visit(word);
		}
	};
	const pdOf = (slot) => at.pds + slot * Pd.words;
	host.control(() => {
		repairRecords(host);
		for (const kind of sharedKinds) {
			const { state, refs, ring } = shared[kind];
			each(kind, (word) => {
				i32[word + refs] = i32[word + state] === dead && i32[word + ring] !== 0 ? 1 : 0;
			});
		}
		each("pd", (pd) => {
			for (const word of pdMembers) i32[pd + word] = 0;
		});
		each("qp", (q) => {
			count(host.cqWord(i32[q + Qp$24.sendCq]) + Cq$1.refs, 1);
			count(host.cqWord(i32[q + Qp$24.recvCq]) + Cq$1.refs, 1);
			if (i32[q + Qp$24.srq] >= 0) count(host.srqWord(i32[q + Qp$24.srq]) + Srq$4.refs, 1);
			count(pdOf(i32[q + Qp$24.pd]) + Pd.qps, 1);
		});
		each("srq", (srq) => count(pdOf(i32[srq + Srq$4.pd]) + Pd.srqs, 1));
		if (i32[at.meta + Meta$8.keysUsed] !== 0) countKeys(host);
		for (const kind of sharedKinds) each(kind, (word) => freeUnused(host, kind, word));
		each("pd", (pd) => {
			if (i32[pd + Pd.state] === recordState.dead && pdMembers.every((word) => i32[pd + word] === 0)) giveRecord(host, "pd", pd);
		});
	});
}
function countKeys(host) {
	const { i32, at } = host;
	for (let index = 0; index < 64; index++) {
		i32[host.deviceWord(index) + Dev$16.mrs] = 0;
		i32[host.deviceWord(index) + Dev$16.mws] = 0;
	}
	let used = 0;
	for (let slot = 0; slot < keySlots; slot++) {
		const entry = at.keys + slot * Key$7.words;
		const kind = i32[entry + Key$7.kind];
		if (kind === keyKind$1.free || kind === keyKind$1.deleted) continue;
		used++;
		const device = host.deviceWord(i32[entry + Key$7.device]) + (kind === keyKind$1.region ? Dev$16.mrs : Dev$16.mws);
		i32[device] = i32[device] + 1;
		const pd = at.pds + i32[entry + Key$7.pd] * Pd.words + (kind === keyKind$1.region ? Pd.mrs : Pd.mws);
		i32[pd] = i32[pd] + 1;
	}
	i32[at.meta + Meta$8.keysUsed] = used;
}
function releaseShared(host, kind, word) {
	const refs = word + shared[kind].refs;
	host.i32[refs] = host.i32[refs] - 1;
	freeUnused(host, kind, word);
}
/** Gives back the record of a dead CQ or SRQ that nothing uses any more. */
function freeUnused(host, kind, word) {
	const { i32 } = host;
	const { state, refs } = shared[kind];
	if (i32[word + refs] === 0 && i32[word + state] === dead) giveRecord(host, kind, word);
}
/** `counter` is the word of `Pd` that counts objects of this kind. */
function releasePd(host, slot, counter) {
	const { i32, at } = host;
	const pd = at.pds + slot * Pd.words;
	i32[pd + counter] = i32[pd + counter] - 1;
	if (i32[pd + Pd.state] === recordState.dead && pdMembers.every((word) => i32[pd + word] <= 0)) giveRecord(host, "pd", pd);
}
// src/verbs/provider/qp-state.ts
const { Reset, Init, Rtr, Rts, Sqd, Sqe, Err } = QpState;
const { GSI, RC, UC, UD } = QpType;
const altPath = [
	"altAh",
	"altPkeyIndex",
	"altPort",
	"altTimeout"
];
const none = {
	required: [],
	optional: []
};
const plain = {
	[GSI]: none,
	[RC]: none,
	[UC]: none,
	[UD]: none
};
const initConnected = [
	"pkeyIndex",
	"port",
	"accessFlags"
];
const initUd = [
	"pkeyIndex",
	"port",
	"qkey"
];
const initGsi = ["pkeyIndex", "qkey"];
const toRtrConnected = [
	"ah",
	"pathMtu",
	"destQpNum",
	"rqPsn"
];
const inRtsUd = ["curState", "qkey"];
const inRtsUc = [
	"curState",
	"accessFlags",
	...altPath,
	"pathMigState"
];
const inRtsRc = [...inRtsUc, "minRnrTimer"];
const inRts = {
	[RC]: {
		required: [],
		optional: inRtsRc
	},
	[UC]: {
		required: [],
		optional: inRtsUc
	},
	[UD]: {
		required: [],
		optional: inRtsUd
	},
	[GSI]: {
		required: [],
		optional: inRtsUd
	}
};
/** All legal transitions (`ib_modify_qp_is_ok`). */
const qpTransitions = [
	{
		from: Reset,
		to: Init,
		attributes: {
			[RC]: {
				required: initConnected,
				optional: []
			},
			[UC]: {
				required: initConnected,
				optional: []
			},
			[UD]: {
				required: initUd,
				optional: []
			},
			[GSI]: {
				required: initGsi,
				optional: []
			}
		}
	},
	{
		from: Init,
		to: Init,
		attributes: {
			[RC]: {
				required: [],
				optional: initConnected
			},
			[UC]: {
				required: [],
				optional: initConnected
			},
			[UD]: {
				required: [],
				optional: initUd
			},
			[GSI]: {
				required: [],
				optional: initGsi
			}
		}
	},
	{
		from: Init,
		to: Rtr,
		attributes: {
			[RC]: {
				required: [
					...toRtrConnected,
					"maxDestRdAtomic",
					"minRnrTimer"
				],
				optional: [
					...altPath,
					"accessFlags",
					"pkeyIndex"
				]
			},
			[UC]: {
				required: toRtrConnected,
				optional: [
					...altPath,
					"accessFlags",
					"pkeyIndex"
				]
			},
			[UD]: {
				required: [],
				optional: ["pkeyIndex", "qkey"]
			},
			[GSI]: {
				required: [],
				optional: ["pkeyIndex", "qkey"]
			}
		}
	},
	{
		from: Rtr,
		to: Rts,
		attributes: {
			[RC]: {
				required: [
					"timeout",
					"retryCnt",
					"rnrRetry",
					"sqPsn",
					"maxRdAtomic"
				],
				optional: inRtsRc
			},
			[UC]: {
				required: ["sqPsn"],
				optional: inRtsUc
			},
			[UD]: {
				required: ["sqPsn"],
				optional: inRtsUd
			},
			[GSI]: {
				required: ["sqPsn"],
				optional: inRtsUd
			}
		}
	},
	{
		from: Rts,
		to: Rts,
		attributes: inRts
	},
	{
		from: Rts,
		to: Sqd,
		attributes: {
			[RC]: {
				required: [],
				optional: ["enSqdAsyncNotify"]
			},
			[UC]: {
				required: [],
				optional: ["enSqdAsyncNotify"]
			},
			[UD]: {
				required: [],
				optional: ["enSqdAsyncNotify"]
			},
			[GSI]: {
				required: [],
				optional: ["enSqdAsyncNotify"]
			}
		}
	},
	{
		from: Sqd,
		to: Rts,
		attributes: inRts
	},
	{
		from: Sqd,
		to: Sqd,
		attributes: {
			[RC]: {
				required: [],
				optional: [
					"port",
					"ah",
					"timeout",
					"retryCnt",
					"rnrRetry",
					"maxRdAtomic",
					"maxDestRdAtomic",
					...altPath,
					"accessFlags",
					"pkeyIndex",
					"minRnrTimer",
					"pathMigState"
				]
			},
			[UC]: {
				required: [],
				optional: [
					"ah",
					...altPath,
					"accessFlags",
					"pkeyIndex",
					"pathMigState"
				]
			},
			[UD]: {
				required: [],
				optional: ["pkeyIndex", "qkey"]
			},
			[GSI]: {
				required: [],
				optional: ["pkeyIndex", "qkey"]
			}
		}
	},
	{
		from: Sqe,
		to: Rts,
		attributes: {
			[RC]: none,
			[UC]: {
				required: [],
				optional: ["curState", "accessFlags"]
			},
			[UD]: {
				required: [],
				optional: inRtsUd
			},
			[GSI]: {
				required: [],
				optional: inRtsUd
			}
		}
	},
	{
		from: Reset,
		to: Reset,
		attributes: plain
	},
	{
		from: Err,
		to: Err,
		attributes: plain
	},
	...[
		Init,
		Rtr,
		Rts,
		Sqd,
		Sqe,
		Err
	].map((from) => ({
		from,
		to: Reset,
		attributes: plain
	})),
	...[
		Init,
		Rtr,
		Rts,
		Sqd,
		Sqe
	].map((from) => ({
		from,
		to: Err,
		attributes: plain
	}))
];
const byState = new Map(qpTransitions.map((t) => [t.from * 16 + t.to, t]));
/** RC never enters SQE, so that its SQE row in the table can never be taken. */
const curStateAllowed = /* @__PURE__ */ new Set([
	Rtr,
	Rts,
	Sqd,
	Sqe
]);
/**
* Whether a QP of `type` may go from `from` to `to` with exactly these attributes (`state` itself left out).
* Returns null, or what is wrong in words that name the attribute.
*/
function checkTransition(type, from, to, given) {
	const transition = byState.get(from * 16 + to);
	const name = `${nameOf$2(QpType, type)} ${nameOf$2(QpState, from)} -> ${nameOf$2(QpState, to)}`;
	if (!transition || type === RC && from === Sqe && to === Rts) {
		const next = qpTransitions.filter((t) => t.from === from && t.to !== from).map((t) => nameOf$2(QpState, t.to));
		return `${name} is not a legal transition; from ${nameOf$2(QpState, from)} a QP can go to ${[...new Set(next)].join(", ")}`;
	}
	const { required, optional } = transition.attributes[type];
	const missing = required.filter((attribute) => !given.includes(attribute));
	if (missing.length > 0) return `${name} requires ${missing.join(", ")}`;
	const extra = given.filter((attribute) => attribute !== "state" && !required.includes(attribute) && !optional.includes(attribute));
	if (extra.length > 0) {
		const allowed = [...required, ...optional];
		return `${name} does not take ${extra.join(", ")}; it takes ${allowed.length > 0 ? allowed.join(", ") : "no attributes"}`;
	}
	if (given.includes("curState") && !curStateAllowed.has(from)) return `${name} does not take curState`;
	return null;
}
// src/verbs/provider/work-completion.ts
/** What polling gives. */
/** `ibv_wc`. Polling fills and reuses these. Keys, immediates and QP numbers are unsigned. */
var WorkCompletion = class {
	/** Of the work request. */
	wrId = 0;
	/** Unless it is `Success`, only `wrId`, `qpNum` and `vendorErr` are valid besides. */
	status = 0;
	/** What completed; valid with status `Success`. */
	opcode = 0;
	/** Bytes received, or read by READ and atomics; with a GRH its 40 bytes count. */
	byteLen = 0;
	/** With `WcFlag.WithImm`: the immediate, 32 bits. */
	immData = 0;
	/** With `WcFlag.WithInv`: the key that the peer invalidated. */
	invalidatedRkey = 0;
	/** The number of the QP of this end. */
	qpNum = 0;
	/** UD: number of the QP that sent the message. */
	srcQp = 0;
	/** Bits of `WcFlag`. */
	wcFlags = 0;
	/** Index of the P_Key of the message; of GSI. */
	pkeyIndex = 0;
	/** UD: LID of the sender. */
	slid = 0;
	/** UD: service level of the message. */
	sl = 0;
	/** UD: low bits of the destination LID. */
	dlidPathBits = 0;
	/** Always 0. */
	vendorErr = 0;
	/** What `status` means, in words. */
	get statusText() {
		return wcStatusText(this.status);
	}
};
/** `count` work completions for `poll`. */
function workCompletions(count) {
	checkInteger("workCompletions", "count", count, 0, 65536);
	return Array.from({ length: count }, () => new WorkCompletion());
}
// src/verbs/api/handle.ts
/** How all objects end: they are closed once, and used only before. */
var Handle = class {
	#what;
	#closed = false;
	constructor(what) {
		this.#what = what;
	}
	get closed() {
		return this.#closed;
	}
	/** Throws EBADF if the object is closed, here or by the thread that made it. */
	assertOpen(verb) {
		if (this.#closed || this.gone()) throw this.closedError(verb);
	}
	/** Whether an import stands for an object that does not exist any more: its owner closed it, or ended. */
	gone() {
		return false;
	}
	closedError(verb) {
		const why = this.#closed ? "is closed" : "was destroyed by the thread that created it, or with that thread";
		return new VerbsError("EBADF", verb, `this ${this.#what} ${why}`);
	}
	/** Of an import, `close` ends only the import, also if the object is gone already: true if it did. */
	endsImport(owned) {
		if (owned || this.#closed) return false;
		this.markClosed();
		return true;
	}
	markClosed() {
		this.#closed = true;
	}
	[Symbol.dispose]() {
		if (!this.#closed) this.close();
	}
};
// src/verbs/api/completion-queue.ts
/** Completion queues: rings that devices write and programs poll. */
function badCompletions() {
	return new VerbsError("EINVAL", "poll", "wc must be an array of WorkCompletions, and max at most its length");
}
const withInv = 8;
var CompletionQueueObject = class CompletionQueueObject extends Handle {
	context;
	channel;
	cqContext;
	slot;
	current = new WorkCompletion();
	host;
	i32;
	f64;
	cq;
	/** The reference to its record while this is open, then 0, which no record has. */
	live;
	single;
	/** Whether something arrives only when this thread gives the device time. */
	driven;
	ref;
	#owned;
	#one;
	/**
	* What the last receive completion that was polled here says: how far its QP's receive queue has been used, and in which epoch
	* it was polled. A thread that posts again what it has just polled then need not read the word that the sender writes.
	*/
	usedQp = 0;
	usedTo = 0;
	usedEpoch = 0;
	/** Polls that found nothing; every sixteenth looks for more than completions. */
	idle = 0;
	/** Use `context.createCq` or `context.importCq`. */
	constructor(context, cq, owned, channel, cqContext) {
		super("CompletionQueue");
		this.context = context;
		this.channel = channel;
		this.cqContext = cqContext;
		this.host = context.device.host;
		this.i32 = this.host.i32;
		this.f64 = this.host.f64;
		this.cq = cq;
		this.ref = this.i32[cq + Cq$1.ref];
		this.live = this.gone() ? 0 : this.ref;
		this.slot = slotOf(this.ref);
		this.#owned = owned;
		this.driven = context.device.driven && context.engine === "poster";
		this.single = this.i32[this.cq + Cq$1.singleThreaded] === 1;
		this.#one = [this.current];
	}
	static create(context, cqe, init) {
		checkObject("createCq", "init", init);
		const { host, index, attr } = context.device;
		checkInteger("createCq", "cqe", cqe, 1, attr.maxCqe);
		checkInteger("createCq", "compVector", init.compVector ?? 0, 0, 0);
		const channel = init.channel ?? null;
		if (channel && channel.context !== context) throw new VerbsError("EINVAL", "createCq", "the channel belongs to another context");
		channel?.assertOpen("createCq");
		const slots = ringSlots(cqe);
		const { i32 } = host;
		const cq = createRecord(host, "cq", "createCq", slots * Cqe$2.words * 4, (cq, ring) => {
			i32[cq + Cq$1.ring] = ring;
			i32[cq + Cq$1.mask] = slots - 1;
			i32[cq + Cq$1.cqe] = cqe;
			i32[cq + Cq$1.channel] = channel ? channel.slot : -1;
			i32[cq + Cq$1.context] = context.slot;
			i32[cq + Cq$1.device] = index;
			i32[cq + Cq$1.owner] = host.segment.me;
			i32[cq + Cq$1.singleThreaded] = init.singleThreaded ? 1 : 0;
			i32[cq + Cq$1.state] = cqState.live;
		});
		const created = new CompletionQueueObject(context, cq, true, channel, init.cqContext);
		context.adopt("cq", created);
		if (channel) channel.attached(created);
		return created;
	}
	get handle() {
		return {
			kind: "cq",
			ref: this.ref
		};
	}
	gone() {
		return isStale(this.host, this.cq, this.ref);
	}
	markClosed() {
		super.markClosed();
		this.live = 0;
	}
	get cqe() {
		return this.i32[this.cq + Cq$1.cqe];
	}
	poll(wc, max) {
		const { i32, cq } = this;
		if (!Array.isArray(wc)) throw badCompletions();
		const most = max ?? wc.length;
		if (typeof most !== "number" || !(most <= wc.length)) throw badCompletions();
		if (i32[cq + Cq$1.ref] !== this.live) throw this.closedError("poll");
		if (!this.filled) {
			if (this.driven) this.context.device.progress();
			this.idle = this.idle + 1 & 15;
			if (this.idle === 0 || i32[cq + Cq$1.state] !== cqState.live) {
				const state = this.#empty();
				if (state !== 0) return state;
			}
			if (!this.driven || !this.filled) return 0;
		}
		const lock = this.single ? 0 : cq + Cq$1.pollLock;
		if (lock !== 0) {
			this.host.segment.lock(lock);
			if (i32[cq + Cq$1.ref] !== this.live) {
				this.host.segment.unlock(lock);
				throw this.closedError("poll");
			}
		}
		const { segment } = this.host;
		const epoch = segment.observe(segment.epochWord);
		let tail = i32[cq + Cq$1.tail];
		const ring = i32[cq + Cq$1.ring];
		const mask = i32[cq + Cq$1.mask];
		let filled = 0;
		let last = -1;
		let bad = false;
		while (filled < most) {
			const e = ring + (tail & mask) * Cqe$2.words;
			if ((processorOrders ? i32[e + Cqe$2.sequence] : Atomics.load(i32, e + Cqe$2.sequence)) !== (tail + 1 | 0)) break;
			const into = wc[filled];
			if (!(into instanceof WorkCompletion)) {
				if (filled === 0) bad = true;
				break;
			}
			if (this.fill(into, e)) {
				filled++;
				last = e;
			}
			tail = tail + 1 | 0;
		}
		if (last >= 0 && (i32[last + Cqe$2.what] >> 8 & 255) >= WcOpcode.Recv) {
			this.usedQp = i32[last + Cqe$2.qpNum];
			this.usedTo = i32[last + Cqe$2.rqTail];
			this.usedEpoch = epoch;
		}
		if (processorOrders) i32[cq + Cq$1.tail] = tail;
		else Atomics.store(i32, cq + Cq$1.tail, tail);
		if (lock !== 0) this.host.segment.unlock(lock);
		if (bad) throw badCompletions();
		return filled;
	}
	get filled() {
		const { i32, cq } = this;
		const tail = i32[cq + Cq$1.tail];
		const e = i32[cq + Cq$1.ring] + (tail & i32[cq + Cq$1.mask]) * Cqe$2.words;
		return (processorOrders ? i32[e + Cqe$2.sequence] : Atomics.load(i32, e + Cqe$2.sequence)) === (tail + 1 | 0);
	}
	/** False for a completion whose QP is gone. */
	fill(wc, e) {
		const { i32 } = this;
		const what = i32[e + Cqe$2.what];
		const status = what & 255;
		if (status === 255) return false;
		const opcode = what >> 8 & 255;
		const flags = what >> 16;
		const other = i32[e + Cqe$2.srcQpOrReleases];
		wc.wrId = this.f64[e + Cqe$2.wrId >> 1];
		wc.status = status;
		wc.opcode = opcode;
		wc.byteLen = i32[e + Cqe$2.byteLen];
		wc.wcFlags = flags;
		wc.qpNum = i32[e + Cqe$2.qpNum];
		if ((flags & withInv) === 0) wc.immData = i32[e + Cqe$2.immData] >>> 0;
		else wc.invalidatedRkey = i32[e + Cqe$2.immData] >>> 0;
		if (opcode >= WcOpcode.Recv) {
			wc.srcQp = other;
			if (other !== 0) {
				const slid = i32[e + Cqe$2.slid];
				wc.slid = slid & 65535;
				wc.sl = slid >> 16;
			} else if (wc.slid !== 0) {
				wc.slid = 0;
				wc.sl = 0;
			}
		} else {
			wc.srcQp = 0;
			const q = this.host.qpWord(i32[e + Cqe$2.qpSlot]);
			if (i32[q + Qp$24.number] === i32[e + Cqe$2.qpNum]) i32[q + Qp$24.sqTail] = other;
		}
		return true;
	}
	/** How far the receive queue of a QP has been used, if the last completion polled here says so; else `unknown`. */
	used(qpNum, unknown) {
		return this.usedQp === qpNum && this.usedEpoch === this.i32[this.host.segment.epochWord] ? this.usedTo : unknown;
	}
	#empty() {
		const i32 = this.i32;
		if (i32[this.cq + Cq$1.state] !== cqState.live) {
			this.assertOpen("poll");
			return -1;
		}
		if (i32[this.host.pendingCount] !== 0) this.context.device.progress();
		return 0;
	}
	startPoll() {
		return this.poll(this.#one, 1) > 0;
	}
	nextPoll() {
		return this.poll(this.#one, 1) > 0;
	}
	endPoll() {}
	reqNotify(solicitedOnly = false) {
		this.assertOpen("reqNotify");
		if (this.channel === null && this.i32[this.cq + Cq$1.channel] < 0) throw new VerbsError("EINVAL", "reqNotify", "this CQ has no completion channel; give createCq one");
		const i32 = this.i32;
		const at = this.cq + Cq$1.armed;
		if (!solicitedOnly) Atomics.store(i32, at, 2);
		else Atomics.compareExchange(i32, at, 0, 1);
		if (i32[this.cq + Cq$1.state] === cqState.overrun) this.host.wakeChannel(this.cq);
	}
	ackEvents(count) {
		this.assertOpen("ackEvents");
		checkInteger("ackEvents", "count", count, 0, 2147483647);
		const outstanding = Atomics.load(this.i32, this.cq + Cq$1.unacknowledged);
		if (count > outstanding) throw new VerbsError("EINVAL", "ackEvents", `only ${outstanding} events are unacknowledged, not ${count}`);
		Atomics.sub(this.i32, this.cq + Cq$1.unacknowledged, count);
	}
	resize(cqe) {
		this.assertOpen("resize");
		const { attr } = this.context.device;
		checkInteger("resize", "cqe", cqe, 1, attr.maxCqe);
		const host = this.host;
		const i32 = this.i32;
		const cq = this.cq;
		const slots = ringSlots(cqe);
		const ring = host.allocate(slots * Cqe$2.words * 4, "resize", i32[cq + Cq$1.owner]) / 4;
		const { segment } = host;
		Atomics.store(i32, cq + Cq$1.resizing, 1);
		segment.bumpEpoch();
		segment.quiesce();
		segment.lock(cq + Cq$1.pollLock);
		segment.lock(cq + Cq$1.lock);
		const gone = this.gone();
		if (!gone) host.countPublished(cq);
		const head = i32[cq + Cq$1.head];
		const tail = i32[cq + Cq$1.tail];
		const outstanding = head - tail | 0;
		const old = i32[cq + Cq$1.ring];
		const fits = !gone && outstanding <= cqe;
		if (fits) {
			for (let i = 0; i < slots; i++) {
				const at = head + i | 0;
				i32[ring + (at & slots - 1) * Cqe$2.words + Cqe$2.sequence] = at + 1 - slots | 0;
			}
			const oldMask = i32[cq + Cq$1.mask];
			for (let at = tail; at !== head; at = at + 1 | 0) {
				const from = old + (at & oldMask) * Cqe$2.words;
				i32.copyWithin(ring + (at & slots - 1) * Cqe$2.words, from, from + Cqe$2.words);
			}
			i32[cq + Cq$1.ring] = ring;
			i32[cq + Cq$1.mask] = slots - 1;
			i32[cq + Cq$1.cqe] = cqe;
		}
		if (!gone) Atomics.store(i32, cq + Cq$1.resizing, 0);
		segment.unlock(cq + Cq$1.lock);
		segment.unlock(cq + Cq$1.pollLock);
		segment.bumpEpoch();
		segment.quiesce();
		segment.free((fits ? old : ring) * 4);
		if (gone) throw this.closedError("resize");
		if (!fits) throw new VerbsError("EINVAL", "resize", `${outstanding} completions are in the CQ; ${cqe} entries cannot hold them`);
	}
	close() {
		if (this.endsImport(this.#owned)) return;
		this.assertOpen("close");
		const host = this.host;
		const i32 = this.i32;
		const cq = this.cq;
		const busy = (refs) => new VerbsError("EBUSY", "close", `${plural(refs, "queue")} may still complete to this CQ; close their QPs first`);
		if (i32[cq + Cq$1.refs] > 0) throw busy(i32[cq + Cq$1.refs]);
		for (let outstanding = Atomics.load(i32, cq + Cq$1.unacknowledged); outstanding > 0; outstanding = Atomics.load(i32, cq + Cq$1.unacknowledged)) host.segment.wait(cq + Cq$1.unacknowledged, outstanding, 10);
		const refs = destroyCq(host, cq, false);
		if (refs > 0) throw busy(refs);
		this.channel?.detached(this);
		this.context.disown("cq", this);
		this.markClosed();
	}
};
function ringSlots(cqe) {
	return Math.max(2, 2 ** Math.ceil(Math.log2(cqe)));
}
// src/verbs/api/address.ts
/** Address vectors and address handles: the way to a port. */
/** Throws EINVAL that names the field, unless the address vector is well formed. */
function checkAhAttr(verb, name, device, attr) {
	if (typeof attr !== "object" || attr === null) throw new VerbsError("EINVAL", verb, `${name} must be an object`);
	checkInteger(verb, `${name}.dlid`, attr.dlid ?? 0, 0, 65535);
	checkInteger(verb, `${name}.sl`, attr.sl ?? 0, 0, 15);
	checkInteger(verb, `${name}.srcPathBits`, attr.srcPathBits ?? 0, 0, 127);
	checkInteger(verb, `${name}.staticRate`, attr.staticRate ?? 0, 0, 255);
	checkInteger(verb, `${name}.portNum`, attr.portNum ?? 1, 1, device.attr.physPortCnt);
	const { grh } = attr;
	if (grh === void 0) {
		if (device.port.linkLayer === LinkLayer.Ethernet) throw new VerbsError("EINVAL", verb, `${name}.grh is needed: on Ethernet the destination's GID is its address`);
		if (attr.dlid === void 0) throw new VerbsError("EINVAL", verb, `${name} needs dlid, or grh with dgid`);
		return;
	}
	if (!(grh?.dgid instanceof Uint8Array) || grh.dgid.length !== 16) throw new VerbsError("EINVAL", verb, `${name}.grh.dgid must be a Uint8Array of 16 bytes`);
	checkInteger(verb, `${name}.grh.sgidIndex`, grh.sgidIndex ?? 0, 0, device.gids.length - 1);
	checkInteger(verb, `${name}.grh.flowLabel`, grh.flowLabel ?? 0, 0, 1048575);
	checkInteger(verb, `${name}.grh.hopLimit`, grh.hopLimit ?? 0, 0, 255);
	checkInteger(verb, `${name}.grh.trafficClass`, grh.trafficClass ?? 0, 0, 255);
}
/** Writes an address vector that `checkAhAttr` has passed; `device` is where it leads. */
function writeAv(i32, av, attr, device) {
	const { grh } = attr;
	i32[av + Av$4.device] = device;
	i32[av + Av$4.dlid] = attr.dlid ?? 0;
	i32[av + Av$4.sl] = attr.sl ?? 0;
	i32[av + Av$4.flags] = grh ? 1 | (isMulticastGid(grh.dgid) ? 2 : 0) : 0;
	i32[av + Av$4.trafficClass] = grh?.trafficClass ?? 0;
	i32[av + Av$4.hopLimit] = grh?.hopLimit ?? 0;
	i32[av + Av$4.flowLabel] = grh?.flowLabel ?? 0;
	i32[av + Av$4.sgidIndex] = grh?.sgidIndex ?? 0;
	const gid = new Uint8Array(i32.buffer, i32.byteOffset + (av + Av$4.gid) * 4, 16);
	if (grh) gid.set(grh.dgid);
	else gid.fill(0);
}
function readAv(i32, av) {
	const attr = {
		dlid: i32[av + Av$4.dlid],
		sl: i32[av + Av$4.sl],
		portNum: 1
	};
	if ((i32[av + Av$4.flags] & 1) !== 0) attr.grh = {
		dgid: new Uint8Array(i32.buffer, i32.byteOffset + (av + Av$4.gid) * 4, 16).slice(),
		sgidIndex: i32[av + Av$4.sgidIndex],
		flowLabel: i32[av + Av$4.flowLabel],
		hopLimit: i32[av + Av$4.hopLimit],
		trafficClass: i32[av + Av$4.trafficClass]
	};
	return attr;
}
var AddressHandleObject = class extends Handle {
	pd;
	pdRef;
	#words;
	#attr;
	/** Use `pd.createAh`. */
	constructor(pd, attr) {
		super("AddressHandle");
		this.pd = pd;
		this.pdRef = pd.ref;
		this.#words = new Int32Array(Av$4.words);
		this.#attr = attr;
		this.#set("createAh", attr);
		const { host, index, attr: limits } = pd.context.device;
		const used = host.deviceWord(index) + Dev$16.ahs;
		if (Atomics.add(host.i32, used, 1) >= limits.maxAh) {
			Atomics.sub(host.i32, used, 1);
			throw new VerbsError("ENOMEM", "createAh", `all ${limits.maxAh} address handles of the device are in use`);
		}
		Atomics.add(host.i32, pd.word + Pd.ahs, 1);
		pd.context.adopt("ah", this);
	}
	#set(verb, attr) {
		const { device } = this.pd.context;
		checkAhAttr(verb, "attr", device, attr);
		writeAv(this.#words, 0, attr, device.route(attr));
		this.#attr = {
			...attr,
			...attr.grh ? { grh: {
				...attr.grh,
				dgid: attr.grh.dgid.slice()
			} } : {}
		};
	}
	get attr() {
		return this.#attr;
	}
	modify(attr) {
		this.assertOpen("modifyAh");
		this.#set("modifyAh", attr);
	}
	query() {
		this.assertOpen("queryAh");
		return readAv(this.#words, 0);
	}
	copyTo(i32, av) {
		const words = this.#words;
		for (let i = 0; i < Av$4.words; i++) i32[av + i] = words[i];
	}
	close() {
		this.assertOpen("close");
		this.markClosed();
		const { host, index } = this.pd.context.device;
		if (!isStale(host, this.pd.word, this.pdRef)) {
			Atomics.sub(host.i32, host.deviceWord(index) + Dev$16.ahs, 1);
			Atomics.sub(host.i32, this.pd.word + Pd.ahs, 1);
		}
		this.pd.context.disown("ah", this);
	}
};
// src/verbs/api/qp-attributes.ts
/** The attributes of a queue pair: their ranges, and where they are in its record. */
/** Those that are kept in the word of their name. */
const plainAttributes = [
	"pathMtu",
	"pathMigState",
	"qkey",
	"rqPsn",
	"sqPsn",
	"destQpNum",
	"accessFlags",
	"pkeyIndex",
	"altPkeyIndex",
	"maxRdAtomic",
	"maxDestRdAtomic",
	"minRnrTimer",
	"port",
	"timeout",
	"retryCnt",
	"rnrRetry",
	"altPort",
	"altTimeout"
];
/** Throws EINVAL, or EPERM, that names the attribute whose value is not possible. */
function checkQpAttributes(device, type, values) {
	const range = (name, max) => {
		if (values[name] !== void 0) checkInteger("modify", name, values[name], 0, max);
	};
	if (values.state !== void 0) checkInteger("modify", "state", values.state, 0, QpState.Err);
	range("pkeyIndex", device.pkeys.length - 1);
	range("altPkeyIndex", device.pkeys.length - 1);
	range("rqPsn", 16777215);
	range("sqPsn", 16777215);
	range("destQpNum", 16777215);
	range("maxRdAtomic", device.attr.maxQpInitRdAtom);
	range("maxDestRdAtomic", device.attr.maxQpRdAtom);
	range("minRnrTimer", 31);
	range("timeout", 31);
	range("altTimeout", 31);
	range("retryCnt", 7);
	range("rnrRetry", 7);
	range("qkey", 4294967295);
	range("pathMigState", 2);
	range("accessFlags", Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.FlushGlobal | Access.FlushPersistent);
	for (const name of ["port", "altPort"]) if (values[name] !== void 0) checkInteger("modify", name, values[name], 1, device.attr.physPortCnt);
	if (values.pathMtu !== void 0) {
		if (!PathMtus.includes(values.pathMtu)) throw new VerbsError("EINVAL", "modify", `pathMtu must be one of ${PathMtus.join(", ")} bytes, not ${describe(values.pathMtu)}`);
		if (values.pathMtu > device.port.activeMtu) throw new VerbsError("EINVAL", "modify", `pathMtu ${values.pathMtu} is more than the port's active MTU of ${device.port.activeMtu}`);
	}
	if (values.ah !== void 0) checkAhAttr("modify", "ah", device, values.ah);
	if (values.altAh !== void 0) checkAhAttr("modify", "altAh", device, values.altAh);
	if (values.qkey !== void 0 && values.qkey >= 2147483648 && type !== QpType.GSI) throw new VerbsError("EPERM", "modify", "Q_Keys with the highest bit set are for privileged consumers");
}
/**
* Writes attributes that were checked into the record of a QP. In SQD a device may be sending again what is outstanding, and
* see a new path half written: such a packet has a right ICRC, goes where some host drops it, and is sent again.
*/
function storeQpAttributes(device, q, values) {
	const { i32 } = device.host;
	for (const name of plainAttributes) {
		const value = values[name];
		if (value !== void 0) i32[q + Qp$24[name]] = value;
	}
	if (values.enSqdAsyncNotify !== void 0) i32[q + Qp$24.sqDrainNotify] = values.enSqdAsyncNotify ? 1 : 0;
	if (values.ah !== void 0) {
		i32[q + Qp$24.destDevice] = device.route(values.ah);
		writeAv(i32, q + Qp$24.av, values.ah, i32[q + Qp$24.destDevice]);
	}
	if (values.altAh !== void 0) writeAv(i32, q + Qp$24.altAv, values.altAh, device.route(values.altAh));
	if (values.destQpNum !== void 0) i32[q + Qp$24.destSlot] = 0;
}
/** The attributes as the record of a QP has them now. */
function readQpAttributes(i32, q) {
	const state = Atomics.load(i32, q + Qp$24.state);
	const attr = {
		state,
		curState: state,
		enSqdAsyncNotify: i32[q + Qp$24.sqDrainNotify] === 1,
		ah: readAv(i32, q + Qp$24.av),
		altAh: readAv(i32, q + Qp$24.altAv)
	};
	for (const name of plainAttributes) attr[name] = name === "qkey" ? i32[q + Qp$24.qkey] >>> 0 : i32[q + Qp$24[name]];
	return attr;
}
// src/verbs/api/send-entries.ts
/** How a send work request is written into an entry of the send queue, and why it cannot be. */
/** Bit of each opcode that a QP type can execute. */
const bit = (...opcodes) => opcodes.reduce((mask, opcode) => mask | 1 << opcode, 0);
const ucOps = bit(Opcode.Send, Opcode.SendWithImm, Opcode.SendWithInv, Opcode.Write, Opcode.WriteWithImm, Opcode.LocalInv, Opcode.BindMw);
const legalOpcodes = {
	[QpType.RC]: ucOps | bit(Opcode.Read, Opcode.AtomicCmpAndSwp, Opcode.AtomicFetchAndAdd, Opcode.Flush, Opcode.AtomicWrite),
	[QpType.UC]: ucOps,
	[QpType.UD]: bit(Opcode.Send, Opcode.SendWithImm),
	[QpType.GSI]: bit(Opcode.Send)
};
/** Opcodes that may carry their payload inline. */
const inlineOpcodes = bit(Opcode.Send, Opcode.SendWithImm, Opcode.SendWithInv, Opcode.Write, Opcode.WriteWithImm, Opcode.AtomicWrite);
const badOpcode = 2;
const badAh = 4;
const badAhPd = 5;
const badInline = 6;
const badInlineAddress = 7;
const badInlineOpcode = 8;
var SendEntries = class {
	maxSendWr;
	#host;
	#i32;
	#f64;
	#type;
	#pdRef;
	#ring;
	#mask;
	#stride;
	#maxSendSge;
	#maxInlineData;
	#legal;
	#datagram;
	/** Of the QP whose record begins at `q`. */
	constructor(host, q, type, pdRef) {
		const { i32 } = host;
		this.#host = host;
		this.#i32 = i32;
		this.#f64 = host.f64;
		this.#type = type;
		this.#pdRef = pdRef;
		this.#ring = i32[q + Qp$24.sqRing];
		this.#mask = i32[q + Qp$24.sqMask];
		this.#stride = i32[q + Qp$24.sqStride];
		this.maxSendWr = i32[q + Qp$24.maxSendWr];
		this.#maxSendSge = i32[q + Qp$24.maxSendSge];
		this.#maxInlineData = i32[q + Qp$24.maxInlineData];
		this.#legal = legalOpcodes[type];
		this.#datagram = type === QpType.UD || type === QpType.GSI;
	}
	/** First word of the entry with this index. */
	entry(index) {
		return this.#ring + (index & this.#mask) * this.#stride;
	}
	/** Writes one request into the entry at `w`; 0, or a reason for which it cannot be posted. */
	write(w, wr) {
		const i32 = this.#i32;
		const f64 = this.#f64;
		const { opcode, sendFlags, sgList } = wr;
		if ((opcode & 15) !== opcode || (this.#legal >>> opcode & 1) === 0) return badOpcode;
		const sges = sgList.length;
		if (sges > this.#maxSendSge) return 3;
		i32[w + Wqe$14.opcode] = opcode;
		i32[w + Wqe$14.flags] = sendFlags;
		f64[w + Wqe$14.wrId >> 1] = wr.wrId;
		i32[w + Wqe$14.sges] = sges;
		if (opcode === Opcode.SendWithImm || opcode === Opcode.WriteWithImm) i32[w + Wqe$14.immData] = wr.immData;
		else if (opcode !== Opcode.Send) {
			if (opcode === Opcode.SendWithInv || opcode === Opcode.LocalInv) i32[w + Wqe$14.immData] = wr.invalidateRkey;
			else if (opcode !== Opcode.Write && opcode !== Opcode.Read) this.#writeRare(w, wr);
		}
		if (opcode !== Opcode.Send && opcode !== Opcode.SendWithImm) {
			f64[w + Wqe$14.remoteAddr >> 1] = wr.remoteAddr;
			i32[w + Wqe$14.rkey] = wr.rkey;
		}
		if (this.#datagram) {
			const { ah } = wr;
			if (ah === null) return badAh;
			if (ah.pdRef !== this.#pdRef) return badAhPd;
			i32[w + Wqe$14.remoteQpn] = wr.remoteQpn;
			i32[w + Wqe$14.remoteQkey] = wr.remoteQkey;
			ah.copyTo(i32, w + Wqe$14.av);
		}
		if ((sendFlags & SendFlag.Inline) !== 0) return this.#writeInline(w, wr);
		for (let i = 0, s = w + Wqe$14.data; i < sges; i++, s += Sg$6.words) {
			const sge = sgList[i];
			f64[s >> 1] = sge.addr;
			i32[s + Sg$6.length] = sge.length;
			i32[s + Sg$6.lkey] = sge.lkey;
		}
		return 0;
	}
	#writeRare(w, wr) {
		const i32 = this.#i32;
		const { b64 } = this.#host.segment;
		switch (wr.opcode) {
			case Opcode.AtomicCmpAndSwp:
			case Opcode.AtomicFetchAndAdd:
				b64[w + Wqe$14.compareAdd >> 1] = wr.compareAdd;
				b64[w + Wqe$14.swap >> 1] = wr.swap;
				break;
			case Opcode.Flush:
				this.#f64[w + Wqe$14.length >> 1] = wr.flushLength;
				i32[w + Wqe$14.access] = wr.placement | wr.selectivity << 4;
				break;
			case Opcode.BindMw:
				i32[w + Wqe$14.immData] = wr.mwNewRkey;
				wr.rkey = wr.mwRkey;
				wr.remoteAddr = wr.bindAddr;
				this.#f64[w + Wqe$14.length >> 1] = wr.bindLength;
				i32[w + Wqe$14.access] = wr.bindAccess;
				i32[w + Wqe$14.mrKey] = wr.mrLkey;
		}
	}
	#writeInline(w, wr) {
		if ((inlineOpcodes >>> wr.opcode & 1) === 0) return badInlineOpcode;
		const { segment } = this.#host;
		let at = (w + Wqe$14.data) * 4;
		let length = 0;
		for (const sge of wr.sgList) {
			length += sge.length;
			if (length > this.#maxInlineData) return badInline;
			if (!(sge.addr >= segment.heapStart && sge.length >= 0 && sge.addr + sge.length <= segment.sizeBytes)) return badInlineAddress;
			segment.copy(at, sge.addr, sge.length);
			at += sge.length;
		}
		this.#i32[w + Wqe$14.inlineLength] = length;
		return 0;
	}
	reason(failed, wr) {
		switch (failed) {
			case 1: return `the send queue is full with ${this.maxSendWr} requests: poll their completions first (unsignaled ones need a signaled one after them)`;
			case badOpcode: return `a ${nameOf$2(QpType, this.#type)} QP cannot execute ${nameOf$2(Opcode, wr.opcode)}`;
			case 3: return `${wr.sgList.length} scatter/gather elements are more than cap.maxSendSge ${this.#maxSendSge}`;
			case badAh: return "a UD request needs ah, remoteQpn and remoteQkey";
			case badAhPd: return "ah belongs to another protection domain";
			case badInline: return `inline data is longer than cap.maxInlineData ${this.#maxInlineData}`;
			case 10: return "the QP was reset or destroyed by another thread";
			case 9: return "a field of the work request has a value of the wrong type";
			case badInlineAddress: return "inline data lies outside the memory of the device";
			default: return `${nameOf$2(Opcode, wr.opcode)} cannot be inline`;
		}
	}
};
// src/verbs/api/shared-receive-queue.ts
/** Shared receive queues: one ring of receives for many QPs, with a limit event and resizing. */
/** Writes one receive request into a ring. */
function writeReceive(i32, f64, r, wr) {
	const { sgList } = wr;
	f64[r + Rwqe$4.wrId >> 1] = wr.wrId;
	i32[r + Rwqe$4.sges] = sgList.length;
	for (let i = 0, s = r + Rwqe$4.data; i < sgList.length; i++, s += Sg$6.words) {
		const sge = sgList[i];
		f64[s >> 1] = sge.addr;
		i32[s + Sg$6.length] = sge.length;
		i32[s + Sg$6.lkey] = sge.lkey;
	}
}
const slotsFor = (maxWr) => 2 ** Math.ceil(Math.log2(Math.max(2, maxWr)));
var SharedReceiveQueueObject = class SharedReceiveQueueObject extends Handle {
	pd;
	slot;
	ref;
	#host;
	#srq;
	#owned;
	/** Use `pd.createSrq` or `context.importSrq`. */
	constructor(pd, srq, owned) {
		super("SharedReceiveQueue");
		this.pd = pd;
		this.#host = pd.context.device.host;
		this.#srq = srq;
		this.ref = this.#host.i32[srq + Srq$4.ref];
		this.slot = slotOf(this.ref);
		this.#owned = owned;
	}
	static create(pd, init) {
		checkObject("createSrq", "init", init);
		const { host, attr, index } = pd.context.device;
		const maxSge = init.maxSge ?? 1;
		checkInteger("createSrq", "maxWr", init.maxWr, 1, attr.maxSrqWr);
		checkInteger("createSrq", "maxSge", maxSge, 0, attr.maxSrqSge);
		checkInteger("createSrq", "srqLimit", init.srqLimit ?? 0, 0, init.maxWr);
		const slots = slotsFor(init.maxWr);
		const stride = Math.ceil((Rwqe$4.data + maxSge * Sg$6.words) / 8) * 8;
		const { i32 } = host;
		const word = createRecord(host, "srq", "createSrq", slots * stride * 4, (srq, ring) => {
			pd.assertOpen("createSrq");
			i32[srq + Srq$4.pd] = pd.slot;
			i32[srq + Srq$4.context] = pd.context.slot;
			i32[srq + Srq$4.owner] = host.segment.me;
			i32[srq + Srq$4.maxWr] = init.maxWr;
			i32[srq + Srq$4.maxSge] = maxSge;
			i32[srq + Srq$4.ring] = ring;
			i32[srq + Srq$4.mask] = slots - 1;
			i32[srq + Srq$4.stride] = stride;
			i32[srq + Srq$4.limit] = init.srqLimit ?? 0;
			i32[srq + Srq$4.device] = index;
			i32[srq + Srq$4.state] = recordState.live;
			Atomics.add(i32, pd.word + Pd.srqs, 1);
		});
		const srq = new SharedReceiveQueueObject(pd, word, true);
		pd.context.adopt("srq", srq);
		return srq;
	}
	get handle() {
		return {
			kind: "srq",
			ref: this.ref
		};
	}
	gone() {
		return isStale(this.#host, this.#srq, this.ref);
	}
	postRecv(wr) {
		this.assertOpen("postRecv");
		const { i32, f64, segment } = this.#host;
		const srq = this.#srq;
		let request = wr instanceof RecvWorkRequest ? wr : recvWr(wr);
		let failed = "";
		let full = false;
		let gone = false;
		segment.enter();
		try {
			segment.lock(srq + Srq$4.postLock);
			try {
				const maxWr = i32[srq + Srq$4.maxWr];
				const maxSge = i32[srq + Srq$4.maxSge];
				const ring = i32[srq + Srq$4.ring];
				const mask = i32[srq + Srq$4.mask];
				const stride = i32[srq + Srq$4.stride];
				let head = i32[srq + Srq$4.head];
				gone = this.gone();
				while (!gone && request !== null) {
					full = (head - Atomics.load(i32, srq + Srq$4.tail) | 0) >= maxWr;
					if (full) failed = `the SRQ is full with ${maxWr} requests`;
					else if (request.sgList.length > maxSge) failed = `${request.sgList.length} scatter/gather elements are more than maxSge ${maxSge}`;
					if (failed !== "") break;
					writeReceive(i32, f64, ring + (head & mask) * stride, request);
					head = head + 1 | 0;
					segment.publish(srq + Srq$4.head, head);
					request = request.next;
				}
			} catch {
				failed = "a field of the work request has a value of the wrong type";
			}
			Atomics.store(i32, srq + Srq$4.postLock, 0);
		} finally {
			segment.leave();
		}
		if (gone) throw this.closedError("postRecv");
		if (i32[srq + Srq$4.waiting] !== 0) this.#wake();
		if (failed !== "") {
			const error = new VerbsError(full ? "ENOMEM" : "EINVAL", "postRecv", failed);
			error.badWr = request;
			throw error;
		}
	}
	/** Lets the QPs whose requests wait for a receive here try again, in the order in which they came. */
	#wake() {
		const { i32, segment } = this.#host;
		const srq = this.#srq;
		const waiting = [];
		segment.lock(srq + Srq$4.lock);
		for (let slot = i32[srq + Srq$4.waiting]; slot !== 0;) {
			const q = this.#host.qpWord(slot - 1);
			waiting.push(slot - 1);
			slot = i32[q + Qp$24.nextWaiting];
			i32[q + Qp$24.nextWaiting] = 0;
			i32[q + Qp$24.waitingOn] = 0;
		}
		i32[srq + Srq$4.waiting] = 0;
		segment.unlock(srq + Srq$4.lock);
		for (const slot of waiting) this.pd.context.device.resume(slot);
	}
	modify(attr) {
		this.assertOpen("modify");
		checkObject("modify", "attr", attr);
		const { i32, segment } = this.#host;
		const srq = this.#srq;
		if (attr.maxWr !== void 0) this.#resize(attr.maxWr);
		if (attr.srqLimit !== void 0) {
			checkInteger("modify", "srqLimit", attr.srqLimit, 0, i32[srq + Srq$4.maxWr]);
			segment.lock(srq + Srq$4.lock);
			i32[srq + Srq$4.limit] = attr.srqLimit;
			segment.unlock(srq + Srq$4.lock);
		}
	}
	#resize(maxWr) {
		const host = this.#host;
		const { i32, segment } = host;
		const srq = this.#srq;
		checkInteger("modify", "maxWr", maxWr, 1, this.pd.context.device.attr.maxSrqWr);
		const stride = i32[srq + Srq$4.stride];
		const slots = slotsFor(maxWr);
		const ring = host.allocate(slots * stride * 4, "modify", i32[srq + Srq$4.owner]) / 4;
		segment.lock(srq + Srq$4.postLock);
		segment.lock(srq + Srq$4.lock);
		const gone = this.gone();
		const head = i32[srq + Srq$4.head];
		const tail = i32[srq + Srq$4.tail];
		const old = i32[srq + Srq$4.ring];
		const posted = head - tail | 0;
		const limit = i32[srq + Srq$4.limit];
		const fits = !gone && posted <= maxWr && limit <= maxWr;
		if (fits) {
			for (let at = tail; at !== head; at = at + 1 | 0) {
				const from = old + (at & i32[srq + Srq$4.mask]) * stride;
				i32.copyWithin(ring + (at & slots - 1) * stride, from, from + stride);
			}
			i32[srq + Srq$4.ring] = ring;
			i32[srq + Srq$4.mask] = slots - 1;
			i32[srq + Srq$4.maxWr] = maxWr;
		}
		segment.unlock(srq + Srq$4.lock);
		segment.unlock(srq + Srq$4.postLock);
		segment.quiesce();
		segment.free((fits ? old : ring) * 4);
		if (gone) throw this.closedError("modify");
		if (!fits) throw new VerbsError("EINVAL", "modify", `maxWr ${maxWr} is less than the ${posted} posted requests or the limit ${limit}`);
	}
	query() {
		this.assertOpen("query");
		const { i32 } = this.#host;
		return {
			maxWr: i32[this.#srq + Srq$4.maxWr],
			maxSge: i32[this.#srq + Srq$4.maxSge],
			srqLimit: i32[this.#srq + Srq$4.limit]
		};
	}
	close() {
		if (this.endsImport(this.#owned)) return;
		this.assertOpen("close");
		const refs = destroySrq(this.#host, this.#srq, false);
		if (refs > 0) throw new VerbsError("EBUSY", "close", `it is in use by ${plural(refs, "QP")}`);
		this.markClosed();
		this.pd.context.disown("srq", this);
	}
};
// src/verbs/api/queue-pair.ts
/**
* Queue pairs: creation, the state machine, posting. The queues are rings in the segment, so that any thread that
* imports the QP can post; a lock for each direction makes that safe.
*/
const defaultCap = {
	maxSendWr: 128,
	maxRecvWr: 128,
	maxSendSge: 1,
	maxRecvSge: 1,
	maxInlineData: 64
};
const powerOfTwo = (n) => 2 ** Math.ceil(Math.log2(Math.max(1, n)));
var QueuePairObject = class QueuePairObject extends Handle {
	pd;
	type;
	qpNum;
	slot;
	ref;
	sendCq;
	recvCq;
	srq;
	cap;
	qpContext;
	#owned;
	#host;
	#i32;
	#f64;
	#q;
	#entries;
	/** `recvCq`, whose last completion says how far the receive queue has been used. */
	#polled;
	#fast;
	#builder = null;
	/** Use `pd.createQp` or `context.importQp`. */
	constructor(pd, q, type, owned, init) {
		super("QueuePair");
		this.pd = pd;
		this.type = type;
		this.slot = pd.context.device.host.qpSlot(q);
		this.sendCq = init.sendCq;
		this.recvCq = init.recvCq;
		this.#polled = init.recvCq;
		this.srq = init.srq ?? null;
		this.qpContext = init.qpContext;
		this.#owned = owned;
		this.#host = pd.context.device.host;
		this.#i32 = this.#host.i32;
		this.#f64 = this.#host.f64;
		const i32 = this.#i32;
		this.#q = q;
		this.ref = i32[q + Qp$24.ref];
		this.qpNum = i32[q + Qp$24.number];
		this.#entries = new SendEntries(this.#host, q, type, pd.ref);
		this.#fast = pd.context.device.fastPath(q);
		this.cap = {
			maxSendWr: i32[q + Qp$24.maxSendWr],
			maxRecvWr: i32[q + Qp$24.maxRecvWr],
			maxSendSge: i32[q + Qp$24.maxSendSge],
			maxRecvSge: i32[q + Qp$24.maxRecvSge],
			maxInlineData: i32[q + Qp$24.maxInlineData]
		};
	}
	static create(pd, init) {
		const verb = "createQp";
		checkObject(verb, "init", init);
		const { context } = pd;
		const { host, attr, index } = context.device;
		if (!Object.values(QpType).includes(init.type)) throw new VerbsError("EINVAL", verb, `type must be QpType.RC, UC, UD or GSI; ${describe(init.type)} is not supported`);
		for (const name of ["sendCq", "recvCq"]) {
			const cq = init[name];
			if (!(cq instanceof CompletionQueueObject)) throw new VerbsError("EINVAL", verb, `${name} must be a CompletionQueue`);
			cq.assertOpen(verb);
			if (cq.context !== context) throw new VerbsError("EINVAL", verb, `${name} belongs to another context`);
		}
		if (init.srq) {
			init.srq.assertOpen(verb);
			if (init.srq.pd.context !== context) throw new VerbsError("EINVAL", verb, "srq belongs to another context");
		}
		const cap = {
			...defaultCap,
			...init.cap
		};
		checkInteger(verb, "cap.maxSendWr", cap.maxSendWr, 0, attr.maxQpWr);
		checkInteger(verb, "cap.maxRecvWr", cap.maxRecvWr, 0, attr.maxQpWr);
		checkInteger(verb, "cap.maxSendSge", cap.maxSendSge, 0, attr.maxSge);
		checkInteger(verb, "cap.maxRecvSge", cap.maxRecvSge, 0, attr.maxSge);
		checkInteger(verb, "cap.maxInlineData", cap.maxInlineData, 0, attr.maxInlineData);
		if (init.srq) cap.maxRecvWr = 0;
		const sendSlots = powerOfTwo(cap.maxSendWr);
		const recvSlots = powerOfTwo(cap.maxRecvWr);
		const sendStride = Math.ceil((Wqe$14.data + Math.max(cap.maxSendSge * Sg$6.words, Math.ceil(cap.maxInlineData / 4))) / 16) * 16;
		const recvStride = cap.maxRecvSge === 0 ? Rwqe$4.data : Math.ceil((Rwqe$4.data + cap.maxRecvSge * Sg$6.words) / 8) * 8;
		const sendBytes = sendSlots * sendStride * 4;
		const recvBytes = Math.ceil(recvSlots * recvStride * 4 / 64) * 64;
		const { qpWords } = context.device;
		const { i32 } = host;
		let others = false;
		const q = createRecord(host, "qp", verb, sendBytes + recvBytes + qpWords * 4, (q, ring) => {
			for (const used of [
				pd,
				init.sendCq,
				init.recvCq,
				init.srq
			]) used?.assertOpen(verb);
			if (init.type === QpType.GSI) i32[q + Qp$24.agent] = takeAgent(host) + 1;
			i32[q + Qp$24.type] = init.type;
			i32[q + Qp$24.state] = QpState.Reset;
			i32[q + Qp$24.device] = index;
			i32[q + Qp$24.context] = context.slot;
			i32[q + Qp$24.pd] = pd.slot;
			i32[q + Qp$24.sendCq] = init.sendCq.slot;
			i32[q + Qp$24.recvCq] = init.recvCq.slot;
			i32[q + Qp$24.srq] = init.srq ? init.srq.slot : -1;
			i32[q + Qp$24.sqSigAll] = init.sqSigAll ? 1 : 0;
			i32[q + Qp$24.sqRing] = ring;
			i32[q + Qp$24.sqMask] = sendSlots - 1;
			i32[q + Qp$24.sqStride] = sendStride;
			i32[q + Qp$24.rqRing] = ring + sendBytes / 4;
			i32[q + Qp$24.rqMask] = recvSlots - 1;
			i32[q + Qp$24.rqStride] = recvStride;
			i32[q + Qp$24.wire] = ring + (sendBytes + recvBytes) / 4;
			i32[q + Qp$24.maxSendWr] = cap.maxSendWr;
			i32[q + Qp$24.maxRecvWr] = cap.maxRecvWr;
			i32[q + Qp$24.maxSendSge] = cap.maxSendSge;
			i32[q + Qp$24.maxRecvSge] = cap.maxRecvSge;
			i32[q + Qp$24.maxInlineData] = cap.maxInlineData;
			i32[q + Qp$24.owner] = host.segment.me;
			i32[q + Qp$24.engine] = context.engine === "thread" ? 1 : 0;
			others = i32[host.cqWord(init.sendCq.slot) + Cq$1.refs] > 0 || i32[host.cqWord(init.recvCq.slot) + Cq$1.refs] > 0;
			Atomics.add(i32, host.cqWord(init.sendCq.slot) + Cq$1.refs, 1);
			Atomics.add(i32, host.cqWord(init.recvCq.slot) + Cq$1.refs, 1);
			if (init.srq) Atomics.add(i32, host.srqWord(init.srq.slot) + Srq$4.refs, 1);
			Atomics.add(i32, pd.word + Pd.qps, 1);
			assignQpNumber(host, host.qpSlot(q));
			if (init.type === QpType.GSI) nameAgent(host, q);
		});
		host.segment.bumpEpoch();
		if (others) host.segment.quiesce();
		const qp = new QueuePairObject(pd, q, init.type, true, init);
		context.adopt("qp", qp);
		return qp;
	}
	get handle() {
		return {
			kind: "qp",
			ref: this.ref,
			qpNum: this.qpNum,
			type: this.type
		};
	}
	gone() {
		return isStale(this.#host, this.#q, this.ref);
	}
	get state() {
		return Atomics.load(this.#i32, this.#q + Qp$24.state);
	}
	modify(attr) {
		this.assertOpen("modify");
		checkObject("modify", "attr", attr);
		const given = Object.keys(attr).filter((name) => attr[name] !== void 0);
		const values = attr;
		const host = this.#host;
		const i32 = this.#i32;
		const q = this.#q;
		const from = this.state;
		checkQpAttributes(this.pd.context.device, this.type, values);
		const to = values.state ?? from;
		if (values.curState !== void 0 && values.curState !== from) throw new VerbsError("EINVAL", "modify", `curState is ${nameOf$2(QpState, values.curState)} but the QP is in ${nameOf$2(QpState, from)}`);
		const wrong = checkTransition(this.type, from, to, given.filter((name) => name !== "state"));
		if (wrong) throw new VerbsError("EINVAL", "modify", wrong);
		if (from === QpState.Sqd && to !== QpState.Err && to !== QpState.Reset && i32[q + Qp$24.sqDraining] === 1) throw new VerbsError("EINVAL", "modify", "the send queue is draining: wait for the SqDrained event");
		storeQpAttributes(this.pd.context.device, q, values);
		if (to === QpState.Reset) {
			this.#reset();
			return;
		}
		if (to === QpState.Err) {
			const { device } = this.pd.context;
			host.setState(q, QpState.Err);
			host.segment.quiesce();
			device.takeOver?.();
			host.flushBroken(this.ref);
			if (device.driven) {
				device.doorbell(q);
				device.settle();
			}
			return;
		}
		const { segment } = host;
		segment.bumpEpoch();
		if (to === from) return;
		host.lockSends(q);
		segment.enterNow();
		try {
			if (to === QpState.Sqd) {
				i32[q + Qp$24.sqDrainAt] = i32[q + Qp$24.sqHead];
				i32[q + Qp$24.sqDraining] = 1;
			}
			const moved = Atomics.compareExchange(i32, q + Qp$24.state, from, to) === from;
			segment.bumpEpoch();
			if (moved && (to === QpState.Sqd || to === QpState.Rts)) this.pd.context.device.doorbell(q);
		} finally {
			segment.unlock(q + Qp$24.sqLock);
			segment.leave();
		}
		this.pd.context.device.settle();
	}
	#reset() {
		const host = this.#host;
		const { segment } = host;
		const i32 = this.#i32;
		const q = this.#q;
		host.setState(q, QpState.Reset);
		segment.quiesce();
		this.pd.context.device.takeOver?.();
		host.stopWaiting(q);
		segment.lock(q + Qp$24.rqLock);
		i32[q + Qp$24.rqTail] = 0;
		i32[q + Qp$24.rqHead] = 0;
		i32[q + Qp$24.rqTailSeen] = 0;
		i32[q + Qp$24.rqWaiting] = 0;
		i32[q + Qp$24.lastWqe] = 0;
		segment.unlock(q + Qp$24.rqLock);
		host.lockSends(q);
		this.#purge();
		for (const word of [
			Qp$24.sqHead,
			Qp$24.sqNext,
			Qp$24.sqTail,
			Qp$24.pending,
			Qp$24.sqDraining,
			Qp$24.retriesLeft,
			Qp$24.rnrLeft
		]) i32[q + word] = 0;
		i32.fill(0, i32[q + Qp$24.wire], i32[q + Qp$24.wire] + this.pd.context.device.qpWords);
		segment.unlock(q + Qp$24.sqLock);
	}
	#purge() {
		const i32 = this.#i32;
		const q = this.#q;
		this.#host.purgeCompletions(this.#host.cqWord(i32[q + Qp$24.sendCq]), this.qpNum);
		if (i32[q + Qp$24.recvCq] !== i32[q + Qp$24.sendCq]) this.#host.purgeCompletions(this.#host.cqWord(i32[q + Qp$24.recvCq]), this.qpNum);
	}
	query() {
		this.assertOpen("query");
		const i32 = this.#i32;
		const q = this.#q;
		return {
			attr: readQpAttributes(i32, q),
			initAttr: {
				type: this.type,
				cap: { ...this.cap },
				sqSigAll: i32[q + Qp$24.sqSigAll] === 1,
				sendCq: this.sendCq,
				recvCq: this.recvCq,
				srq: this.srq
			}
		};
	}
	postSend(wr) {
		let request = wr instanceof SendWorkRequest ? wr : sendWr(wr);
		const fast = this.#fast;
		if (fast !== null) while (fast.post(request)) {
			if (!request.next) return;
			request = request.next;
		}
		const entries = this.#entries;
		const i32 = this.#i32;
		const q = this.#q;
		const host = this.#host;
		const { segment } = host;
		this.assertOpen("postSend");
		if (i32[q + Qp$24.state] < QpState.Rts) throw this.#bad(request, "EINVAL", `the QP is in ${nameOf$2(QpState, this.state)}; sends are posted from RTS on (modify it first)`);
		host.lockSends(q);
		segment.enterNow();
		let failed = 0;
		try {
			if (i32[q + Qp$24.ref] !== this.ref || i32[q + Qp$24.state] < QpState.Rts) failed = 10;
			else {
				let head = i32[q + Qp$24.sqHead];
				try {
					do {
						if ((head - i32[q + Qp$24.sqTail] | 0) >= entries.maxSendWr) {
							failed = 1;
							break;
						}
						failed = entries.write(entries.entry(head), request);
						if (failed !== 0) break;
						head = head + 1 | 0;
						request = request.next;
					} while (request);
				} catch {
					failed = 9;
				}
				i32[q + Qp$24.sqHead] = head;
				this.pd.context.device.doorbell(q);
				if (fast !== null) fast.prepare();
			}
		} finally {
			segment.unlock(q + Qp$24.sqLock);
			segment.leave();
		}
		this.pd.context.device.settle();
		if (failed !== 0) throw this.#bad(request, failed === 1 ? "ENOMEM" : "EINVAL", entries.reason(failed, request));
	}
	#bad(wr, code, message) {
		const error = new VerbsError(code, wr instanceof SendWorkRequest ? "postSend" : "postRecv", message);
		error.badWr = wr;
		return error;
	}
	postRecv(wr) {
		const i32 = this.#i32;
		const q = this.#q;
		const { segment } = this.#host;
		let request = wr instanceof RecvWorkRequest ? wr : recvWr(wr);
		this.assertOpen("postRecv");
		if (this.srq !== null) throw this.#bad(request, "EINVAL", "this QP receives from its SRQ: post there");
		if (i32[q + Qp$24.state] === QpState.Reset) throw this.#bad(request, "EINVAL", "the QP is in Reset; receives are posted from INIT on (modify it first)");
		const { maxRecvWr, maxRecvSge } = this.cap;
		const ring = i32[q + Qp$24.rqRing];
		const mask = i32[q + Qp$24.rqMask];
		const stride = i32[q + Qp$24.rqStride];
		let failed = 0;
		segment.enter();
		try {
			segment.lock(q + Qp$24.rqPostLock);
			try {
				let head = i32[q + Qp$24.rqHead];
				if (i32[q + Qp$24.ref] !== this.ref) failed = 10;
				while (failed === 0 && request !== null) {
					if ((head - i32[q + Qp$24.rqTailSeen] | 0) >= maxRecvWr) i32[q + Qp$24.rqTailSeen] = this.#polled.used(this.qpNum, i32[q + Qp$24.rqTailSeen]);
					if ((head - i32[q + Qp$24.rqTailSeen] | 0) >= maxRecvWr) i32[q + Qp$24.rqTailSeen] = Atomics.load(i32, q + Qp$24.rqTail);
					if ((head - i32[q + Qp$24.rqTailSeen] | 0) >= maxRecvWr) failed = 1;
					else if (request.sgList.length > maxRecvSge) failed = 3;
					if (failed !== 0) break;
					writeReceive(i32, this.#f64, ring + (head & mask) * stride, request);
					head = head + 1 | 0;
					segment.publish(q + Qp$24.rqHead, head);
					request = request.next;
				}
			} catch {
				failed = 9;
			}
			Atomics.store(i32, q + Qp$24.rqPostLock, 0);
		} finally {
			segment.leave();
		}
		if (failed === 10) throw this.closedError("postRecv");
		if (i32[q + Qp$24.rqWaiting] !== 0) {
			const waiting = Atomics.exchange(i32, q + Qp$24.rqWaiting, 0);
			if (waiting !== 0) this.pd.context.device.resume(waiting - 1);
		}
		if (i32[q + Qp$24.state] === QpState.Err) {
			segment.quiesce();
			this.#host.flushBroken(this.ref);
		}
		if (failed !== 0) {
			let reason = `the receive queue is full with ${maxRecvWr} requests`;
			if (failed === 9) reason = "a field of the work request has a value of the wrong type";
			else if (failed === 3) reason = `${request.sgList.length} scatter/gather elements are more than cap.maxRecvSge ${maxRecvSge}`;
			throw this.#bad(request, failed === 1 ? "ENOMEM" : "EINVAL", reason);
		}
	}
	bindMw(mw, info, options = {}) {
		checkObject("bindMw", "mw", mw);
		checkObject("bindMw", "info", info);
		checkObject("bindMw", "info.mr", info.mr);
		checkObject("bindMw", "options", options);
		if (mw.type !== MwType.Type1) throw new VerbsError("EINVAL", "bindMw", "bind a window of type 2 with a BindMw work request");
		const wr = new SendWorkRequest(options.wrId ?? 0, Opcode.BindMw, options.sendFlags ?? SendFlag.Signaled, []);
		const rkey = incRkey(mw.rkey);
		fillBind(wr, mw, rkey, info.mr.lkey, info.addr, info.length, info.accessFlags, "bindMw");
		this.postSend(wr);
		mw.rkey = rkey;
	}
	get wr() {
		this.#builder ??= new WorkRequestBuilder((wr) => this.postSend(wr));
		return this.#builder;
	}
	attachMcast(gid, lid = 0) {
		this.#checkMcast("attachMcast", gid, lid);
		const { device } = this.pd.context;
		device.joinGroup(gid);
		try {
			joinMcastGroup(this.#host, this.#q, gid, device.attr.maxMcastQpAttach, () => this.assertOpen("attachMcast"));
		} catch (error) {
			device.leaveGroup(gid);
			throw error;
		}
	}
	detachMcast(gid, lid = 0) {
		this.#checkMcast("detachMcast", gid, lid);
		if (!leaveMcastGroup(this.#host, this.#q, gid)) throw new VerbsError("EINVAL", "detachMcast", "this QP is not attached to the group");
		this.pd.context.device.leaveGroup(gid);
	}
	#checkMcast(verb, gid, lid) {
		this.assertOpen(verb);
		if (this.type !== QpType.UD) throw new VerbsError("EINVAL", verb, "only UD QPs receive multicast");
		if (!(gid instanceof Uint8Array) || gid.length !== 16 || !isMulticastGid(gid)) throw new VerbsError("EINVAL", verb, "gid must be the 16 bytes of a multicast GID: ff…, or ::ffff:224.0.0.0 and above");
		checkInteger(verb, "lid", lid, 0, 65535);
	}
	close() {
		if (this.endsImport(this.#owned)) return;
		this.assertOpen("close");
		const mcast = this.#i32[this.#q + Qp$24.mcastRefs];
		if (mcast > 0) throw new VerbsError("EBUSY", "close", `the QP is attached to ${mcast} multicast groups: detach it first`);
		const { device } = this.pd.context;
		if (device.driven) {
			device.doorbell(this.#q);
			device.settle();
		}
		this.markClosed();
		destroyQp(this.#host, this.#q);
		this.pd.context.disown("qp", this);
	}
};
/** A random 24-bit packet sequence number. */
function randomPsn() {
	return randomInt(0, 1 << 24);
}
// src/verbs/api/connect.ts
/** The usual transitions of a QP from RESET to RTS, with what its peer told over any other channel. */
/** The address vector that leads to an endpoint, from the port's own GID `gidIndex`. */
function pathTo(remote, gidIndex = 0) {
	checkObject("pathTo", "remote", remote);
	return {
		dlid: remote.lid,
		portNum: 1,
		grh: {
			dgid: remote.gid,
			sgidIndex: gidIndex,
			hopLimit: 64
		}
	};
}
/**
* Takes a QP through RESET → INIT → RTR → RTS. `local` is its own endpoint, `remote` the peer's, null for UD. Errors as of
* `qp.modify`.
*/
function connectQp(qp, local, remote, options = {}) {
	const modify = (attr) => qp.modify(attr);
	checkObject("connectQp", "local", local);
	checkObject("connectQp", "options", options);
	if (remote !== null) checkObject("connectQp", "remote", remote);
	const { type } = qp;
	const until = options.until ?? QpState.Rts;
	const port = options.ah?.portNum ?? 1;
	const pkeyIndex = qp.pd.context.getPkeyIndex(port, defaultPkey);
	if (type === QpType.GSI) modify({
		state: QpState.Init,
		pkeyIndex,
		qkey: gsiQkey
	});
	else if (type === QpType.UD) modify({
		state: QpState.Init,
		pkeyIndex,
		port,
		qkey: options.qkey ?? 286331153
	});
	else modify({
		state: QpState.Init,
		pkeyIndex,
		port,
		accessFlags: options.accessFlags ?? defaultAccess
	});
	if (until === QpState.Init) return;
	if (type === QpType.UD || type === QpType.GSI) modify({ state: QpState.Rtr });
	else {
		if (remote === null) throw new VerbsError("EINVAL", "connectQp", "a connected QP needs the endpoint of its peer");
		const path = {
			ah: options.ah ?? pathTo(remote, options.gidIndex),
			pathMtu: options.pathMtu ?? qp.pd.context.queryPort(port).activeMtu,
			destQpNum: remote.qpn,
			rqPsn: remote.psn
		};
		if (type === QpType.UC) modify({
			state: QpState.Rtr,
			...path
		});
		else modify({
			state: QpState.Rtr,
			...path,
			maxDestRdAtomic: options.maxDestRdAtomic ?? 16,
			minRnrTimer: options.minRnrTimer ?? 12
		});
	}
	if (until === QpState.Rtr) return;
	if (type !== QpType.RC) modify({
		state: QpState.Rts,
		sqPsn: local.psn
	});
	else modify({
		state: QpState.Rts,
		sqPsn: local.psn,
		timeout: options.timeout ?? 14,
		retryCnt: options.retryCnt ?? 7,
		rnrRetry: options.rnrRetry ?? 7,
		maxRdAtomic: options.maxRdAtomic ?? 16
	});
}
const defaultAccess = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic;
// src/verbs/provider/tables.ts
/** Where each counter is. */
const counterIndex = Object.fromEntries(counterNames$1.map((name, i) => [name, i]));
/** A double and its bits. */
const asNumber = /* @__PURE__ */ new Float64Array(1);
const asBits = new BigInt64Array(asNumber.buffer);
var SegmentTables = class {
	segment;
	platform;
	i32;
	f64;
	u8;
	/** First word of each table. */
	at;
	/** The word that counts the QPs whose requests wait for a time or for their peer. */
	pendingCount;
	constructor(segment, platform) {
		this.segment = segment;
		this.platform = platform;
		this.i32 = segment.i32;
		this.f64 = segment.f64;
		this.u8 = segment.u8;
		const base = segment.staticStart / 4;
		const at = {};
		for (const [name, offset] of Object.entries(Tables$1)) at[name] = base + offset;
		this.at = at;
		this.pendingCount = this.at.pending + PendingList$1.count;
	}
	qpWord(slot) {
		return this.at.qps + slot * Qp$24.words;
	}
	qpSlot(q) {
		return (q - this.at.qps) / Qp$24.words;
	}
	cqWord(slot) {
		return this.at.cqs + slot * Cq$1.words;
	}
	srqWord(slot) {
		return this.at.srqs + slot * Srq$4.words;
	}
	ctxWord(slot) {
		return this.at.contexts + slot * Ctx$5.words;
	}
	chanWord(slot) {
		return this.at.channels + slot * Chan$1.words;
	}
	deviceWord(index) {
		return this.at.devices + index * Dev$16.words;
	}
	/** Runs `body` under the control lock. */
	control(body) {
		const { segment } = this;
		segment.lock(segment.controlLock);
		segment.stopIfTakenOver(segment.controlLock);
		try {
			return body();
		} finally {
			segment.unlock(segment.controlLock);
		}
	}
	/** Memory for a record that is used for the first time. */
	commitMemory(word, words, verb) {
		try {
			this.segment.commit(word * 4, words * 4);
		} catch (error) {
			throw asVerbsError$1(error, verb);
		}
	}
	/** `owner` is the attachment whose end frees it: this thread's, unless told; 0 is nobody's. */
	allocate(bytes, verb, owner = this.segment.me) {
		try {
			return this.segment.allocate(bytes, owner);
		} catch (error) {
			throw asVerbsError$1(error, verb);
		}
	}
	/** Counts one more of what happens seldom; any thread may. Devices that hold a lock of their own count without this. */
	count(device, name) {
		const { b64 } = this.segment;
		const at = (this.deviceWord(device) + Dev$16.counters) / 2 + counterIndex[name];
		for (;;) {
			const before = Atomics.load(b64, at);
			asBits[0] = before;
			asNumber[0] = asNumber[0] + 1;
			if (Atomics.compareExchange(b64, at, before, asBits[0]) === before) return;
		}
	}
	/** All counters of a device, by name. */
	counters(device) {
		const at = (this.deviceWord(device) + Dev$16.counters) / 2;
		return Object.fromEntries(counterNames$1.map((name, i) => [name, this.f64[at + i]]));
	}
};
// src/verbs/provider/events.ts
/** To what an asynchronous event happened. */
const elementKind = {
	none: 0,
	qp: 1,
	cq: 2,
	srq: 3,
	port: 4
};
/** The tables of a segment, with the events that are kept in them. Channel and event locks are taken last, alone. */
var EventTables = class extends SegmentTables {
	/** Wakes the thread that waits on the channel of a CQ that broke, so that it polls it and sees. */
	wakeChannel(cq) {
		if (this.i32[cq + Cq$1.channel] >= 0) this.fire(cq);
	}
	/** Makes the event of a CQ on its channel and wakes the thread that waits there. */
	fire(cq) {
		const { i32, segment } = this;
		const slot = i32[cq + Cq$1.channel];
		if (slot < 0) return;
		const channel = this.chanWord(slot);
		segment.lock(channel + Chan$1.lock);
		if (i32[cq + Cq$1.channel] !== slot) {
			segment.unlock(channel + Chan$1.lock);
			return;
		}
		i32[cq + Cq$1.events] = i32[cq + Cq$1.events] + 1;
		if (i32[cq + Cq$1.events] === 1) this.#appendToChannel(channel, cq);
		Atomics.add(i32, channel + Chan$1.sequence, 1);
		Atomics.store(i32, channel + Chan$1.lock, 0);
		segment.wake(i32[channel + Chan$1.owner]);
	}
	/** Puts a CQ at the end of its channel's list; the lock of the channel is held. */
	#appendToChannel(channel, cq) {
		const { i32 } = this;
		const ref = i32[cq + Cq$1.ref];
		const tail = i32[channel + Chan$1.tail];
		i32[cq + Cq$1.next] = 0;
		i32[tail !== 0 ? this.cqWord(slotOf(tail)) + Cq$1.next : channel + Chan$1.head] = ref;
		i32[channel + Chan$1.tail] = ref;
	}
	/** A thread was killed that may have been making an event for a channel or a context of this device: nobody is to wait in vain. */
	repairEvents(device) {
		const { i32, at, segment } = this;
		const channels = /* @__PURE__ */ new Map();
		for (let slot = 0; slot < i32[at.meta + Meta$8.cqsUsed]; slot++) {
			const cq = this.cqWord(slot);
			const channel = i32[cq + Cq$1.channel];
			if (i32[cq + Cq$1.state] === 0 || i32[cq + Cq$1.device] !== device || channel < 0) continue;
			const cqs = channels.get(channel) ?? [];
			channels.set(channel, cqs);
			cqs.push(cq);
		}
		for (const [slot, cqs] of channels) {
			const channel = this.chanWord(slot);
			segment.lock(channel + Chan$1.lock);
			i32[channel + Chan$1.head] = 0;
			i32[channel + Chan$1.tail] = 0;
			for (const cq of cqs) if (i32[cq + Cq$1.channel] === slot && i32[cq + Cq$1.events] > 0) this.#appendToChannel(channel, cq);
			segment.unlock(channel + Chan$1.lock);
			this.wakeWaiters(channel);
		}
		for (let slot = 0; slot < i32[at.meta + Meta$8.contextsUsed]; slot++) {
			const c = this.ctxWord(slot);
			if (i32[c + Ctx$5.state] !== 0 && i32[c + Ctx$5.device] === device) segment.wake(i32[c + Ctx$5.owner]);
		}
	}
	/** Makes all waits for events of a channel end. */
	wakeWaiters(channel) {
		const { i32, segment } = this;
		Atomics.add(i32, channel + Chan$1.sequence, 1);
		segment.wake(i32[channel + Chan$1.owner]);
	}
	/** Takes the next event of a channel: a reference to its CQ, or 0 if there is none. */
	takeChannelEvent(channel) {
		const { i32, segment } = this;
		if (i32[channel + Chan$1.head] === 0) return 0;
		segment.lock(channel + Chan$1.lock);
		const ref = i32[channel + Chan$1.head];
		if (ref !== 0) {
			const cq = this.cqWord(slotOf(ref));
			const next = i32[cq + Cq$1.next];
			i32[channel + Chan$1.head] = next;
			if (next === 0) i32[channel + Chan$1.tail] = 0;
			i32[cq + Cq$1.events] = i32[cq + Cq$1.events] - 1;
			Atomics.add(i32, cq + Cq$1.unacknowledged, 1);
			if (i32[cq + Cq$1.events] > 0) this.#appendToChannel(channel, cq);
		}
		segment.unlock(channel + Chan$1.lock);
		return ref;
	}
	/** Takes a CQ that is being destroyed out of its channel, by the reference that it had. */
	dropChannelEvents(cq, ref) {
		const { i32, segment } = this;
		if (i32[cq + Cq$1.channel] < 0) return;
		const channel = this.chanWord(i32[cq + Cq$1.channel]);
		segment.lock(channel + Chan$1.lock);
		let before = 0;
		for (let at = i32[channel + Chan$1.head]; at !== 0; at = i32[this.cqWord(slotOf(at)) + Cq$1.next]) {
			if (at === ref) {
				const next = i32[cq + Cq$1.next];
				i32[before !== 0 ? this.cqWord(slotOf(before)) + Cq$1.next : channel + Chan$1.head] = next;
				if (next === 0) i32[channel + Chan$1.tail] = before;
				break;
			}
			before = at;
		}
		i32[cq + Cq$1.events] = 0;
		i32[cq + Cq$1.channel] = -1;
		segment.unlock(channel + Chan$1.lock);
	}
	qpEvent(q, type) {
		const { i32 } = this;
		this.#pushEvent(i32[q + Qp$24.context], type, elementKind.qp, i32[q + Qp$24.ref], i32[q + Qp$24.number]);
	}
	cqEvent(cq, type) {
		const { i32 } = this;
		this.#pushEvent(i32[cq + Cq$1.context], type, elementKind.cq, i32[cq + Cq$1.ref], 0);
	}
	srqEvent(srq, type) {
		const { i32 } = this;
		this.#pushEvent(i32[srq + Srq$4.context], type, elementKind.srq, i32[srq + Srq$4.ref], 0);
	}
	/** An event of the whole device, for one of its contexts. */
	deviceEvent(context, type) {
		this.#pushEvent(context, type, elementKind.none, 0, 0);
	}
	#pushEvent(context, type, kind, ref, number) {
		const { i32, segment } = this;
		const c = this.ctxWord(context);
		if (i32[c + Ctx$5.state] === 0) return;
		segment.lock(c + Ctx$5.eventLock);
		const tail = i32[c + Ctx$5.eventTail];
		if ((tail - Atomics.load(i32, c + Ctx$5.eventHead) | 0) >= Ctx$5.eventSlots) {
			i32[c + Ctx$5.eventsLost] = i32[c + Ctx$5.eventsLost] + 1;
			this.count(i32[c + Ctx$5.device], "events_lost");
		} else {
			const e = c + Ctx$5.events + (tail & Ctx$5.eventSlots - 1) * 4;
			i32[e] = type;
			i32[e + 1] = kind;
			i32[e + 2] = ref;
			i32[e + 3] = number;
			Atomics.store(i32, c + Ctx$5.eventTail, tail + 1 | 0);
		}
		segment.unlock(c + Ctx$5.eventLock);
		segment.wake(i32[c + Ctx$5.owner]);
	}
};
// src/verbs/api/completion-channel.ts
/** Completion channels: where a program waits for events of completion queues. */
/**
* Milliseconds after which a wait in the event loop looks for events although nothing woke it. The first wake of a process that
* may not open this thread's pipe is lost: it only notes that in the thread's record. What a process that is killed leaves behind, a
* wake that it still owed or work that is pending, makes whoever cleans up after it wake all that wait.
*/
const lookMs = 1e3;
var CompletionChannelObject = class extends Handle {
	context;
	slot;
	#host;
	#chan;
	#wakes = 0;
	#cqs = /* @__PURE__ */ new Map();
	/** Use `context.createCompChannel`. */
	constructor(context) {
		super("CompletionChannel");
		this.context = context;
		const { host } = context.device;
		this.#host = host;
		this.#chan = createRecord(host, "channel", "createCompChannel", 0, (chan) => {
			host.i32[chan + Chan$1.context] = context.slot;
			host.i32[chan + Chan$1.owner] = host.segment.me;
			host.i32[chan + Chan$1.state] = 1;
		});
		this.slot = slotOf(host.i32[this.#chan + Chan$1.ref]);
		context.adopt("channel", this);
	}
	attached(cq) {
		this.#cqs.set(cq.ref, cq);
		Atomics.add(this.#host.i32, this.#chan + Chan$1.cqs, 1);
	}
	detached(cq) {
		this.#cqs.delete(cq.ref);
	}
	tryGetEvent() {
		this.assertOpen("tryGetEvent");
		const there = this.#takeEvent();
		if (there !== null) return there;
		const { device } = this.context;
		if (this.#host.i32[this.#host.pendingCount] !== 0 || device.driven) device.progress();
		return this.#takeEvent();
	}
	get hasEvent() {
		return Atomics.load(this.#host.i32, this.#chan + Chan$1.head) !== 0;
	}
	#takeEvent() {
		for (;;) {
			const ref = this.#host.takeChannelEvent(this.#chan);
			if (ref === 0) return null;
			const cq = this.#cqs.get(ref);
			if (cq) return cq;
		}
	}
	getEvent(timeoutMs = Number.POSITIVE_INFINITY) {
		const { segment, i32, pendingCount } = this.#host;
		const { device } = this.context;
		const end = performance.now() + timeoutMs;
		for (;;) {
			const sequence = Atomics.load(i32, this.#chan + Chan$1.sequence);
			const cq = this.tryGetEvent();
			if (cq) return cq;
			if (i32[pendingCount] !== 0) device.progress();
			const left = end - performance.now();
			const ms = Math.min(left, i32[pendingCount] !== 0 ? 1 : 1e3);
			if (left > 0 && device.sleep(this.#chan, sequence, ms)) continue;
			device.rest(false);
			if (left <= 0) return null;
			segment.parking.park(this.#chan + Chan$1.sequence, sequence, ms);
		}
	}
	async nextEvent(timeoutMs = Number.POSITIVE_INFINITY) {
		return await this.#until(timeoutMs, true);
	}
	async whenEvent(timeoutMs = Number.POSITIVE_INFINITY) {
		await this.#until(timeoutMs, false);
	}
	async #until(timeoutMs, take) {
		const { i32, pendingCount, segment } = this.#host;
		const { device } = this.context;
		const end = performance.now() + timeoutMs;
		const wakes = this.#wakes;
		while (!this.closed) {
			const sequence = Atomics.load(i32, this.#chan + Chan$1.sequence);
			if (take) {
				const cq = this.tryGetEvent();
				if (cq) return cq;
			} else {
				if (this.hasEvent) return null;
				if (i32[pendingCount] !== 0 || device.driven) device.progress();
				if (this.hasEvent) return null;
			}
			const left = end - performance.now();
			const over = left <= 0 || wakes !== this.#wakes;
			this.#giveTime(!over);
			if (over) return null;
			const ms = Math.min(left, i32[pendingCount] !== 0 ? 1 : lookMs);
			await segment.parking.waitInLoop(this.#chan + Chan$1.sequence, sequence, ms);
		}
		return null;
	}
	wake() {
		this.#wakes++;
		this.#host.wakeWaiters(this.#chan);
	}
	/** Events as they come, without blocking the event loop: `for await (const cq of channel)`. Ends when the channel closes. */
	async *[Symbol.asyncIterator]() {
		while (!this.closed) {
			const cq = await this.#until(Number.POSITIVE_INFINITY, true);
			if (cq) yield cq;
		}
	}
	/** Before waiting in the event loop (`inLoop`), or no longer: carries on with what can go on. */
	#giveTime(inLoop) {
		const { device } = this.context;
		if (this.#host.i32[this.#host.pendingCount] !== 0) device.progress();
		device.rest(inLoop);
	}
	close() {
		this.assertOpen("close");
		const { i32 } = this.#host;
		if (i32[this.#chan + Chan$1.cqs] > 0) throw new VerbsError("EBUSY", "close", `it is in use by ${plural(i32[this.#chan + Chan$1.cqs], "CQ")}`);
		this.markClosed();
		this.#host.wakeWaiters(this.#chan);
		this.#host.control(() => giveRecord(this.#host, "channel", this.#chan));
		this.context.disown("channel", this);
	}
};
// src/verbs/provider/keys.ts
/**
* The table of keys: memory regions and memory windows by their random 32-bit keys, and how an entry of it begins and ends.
* `Host.findKey` and `Host.resolve` search it on the data path.
*/
/**
* A new entry, which `fill` writes, `Key.kind` last; under the control lock. `counter` is the word of `Dev` that counts
* objects of its kind. ENOMEM if the device has `max` of them, which are called `what`; `check` throws if its protection
* domain was closed meanwhile.
*/
function addKey(host, device, counter, max, verb, what, check, fill) {
	const { i32 } = host;
	const used = host.deviceWord(device) + counter;
	return host.control(() => {
		check();
		if (i32[used] >= max) throw new VerbsError("ENOMEM", verb, `all ${max} ${what} of the device are in use`);
		i32[used] = i32[used] + 1;
		i32[host.at.meta + Meta$8.keysUsed] = i32[host.at.meta + Meta$8.keysUsed] + 1;
		const entry = takeKeyEntry(host);
		fill(entry);
		return entry;
	});
}
/** Never 0 or −1. */
function randomKey(host) {
	return host.platform.randomInt(1, 4294967295) | 0;
}
/** A new entry with a random key whose upper 24 bits are unique, under the control lock. `kind` is written by the caller, last. */
function takeKeyEntry(host) {
	const { i32 } = host;
	for (;;) {
		const key = randomKey(host);
		let slot = key >>> 8 & 262143;
		let place = -1;
		let unique = true;
		for (let probes = 0; probes < keySlots; probes++) {
			const entry = host.at.keys + slot * Key$7.words;
			const kind = i32[entry + Key$7.kind];
			if (kind === keyKind$1.free || kind === keyKind$1.deleted) {
				if (place < 0) place = entry;
				if (kind === keyKind$1.free) break;
			} else if (i32[entry + Key$7.key] >>> 8 === key >>> 8) {
				unique = false;
				break;
			}
			slot = slot + 1 & 262143;
		}
		if (!unique) continue;
		i32.fill(0, place + 2, place + Key$7.words);
		i32[place + Key$7.key] = key;
		return place;
	}
}
/** Frees an entry; where nothing follows it in its chain, tombstones before it go too, so that chains stay short. */
function freeKeyEntry(host, entry) {
	const { i32 } = host;
	const base = host.at.keys;
	const next = (slot, step) => slot + step + keySlots & 262143;
	let slot = (entry - base) / Key$7.words;
	Atomics.store(i32, entry + Key$7.kind, keyKind$1.deleted);
	if (i32[base + next(slot, 1) * Key$7.words + Key$7.kind] !== keyKind$1.free) return;
	while (i32[base + slot * Key$7.words + Key$7.kind] === keyKind$1.deleted) {
		i32[base + slot * Key$7.words + Key$7.kind] = keyKind$1.free;
		slot = next(slot, -1);
	}
}
/** Takes a region or window out of the key table; afterwards nobody uses it. Windows that are bound to the region are unbound. */
function destroyKey(host, entry) {
	withdrawKey(host, entry);
	if (host.i32[entry + Key$7.kind] === keyKind$1.region && host.i32[entry + Key$7.region] > 0) {
		const { i32, at } = host;
		const region = (entry - at.keys) / Key$7.words;
		for (let slot = 0; slot < keySlots; slot++) {
			const window = at.keys + slot * Key$7.words;
			const kind = i32[window + Key$7.kind];
			if ((kind === keyKind$1.window1 || kind === keyKind$1.window2) && i32[window + Key$7.region] === region) unbindWindow(host, window);
		}
		host.segment.quiesce();
	}
	removeKey(host, entry);
}
/** Ends the rights of a region or window; nobody uses them any more, but it is still there. */
function withdrawKey(host, entry) {
	Atomics.store(host.i32, entry + Key$7.valid, 0);
	host.segment.bumpEpoch();
	host.segment.quiesce();
}
function removeKey(host, entry) {
	const { i32 } = host;
	host.control(() => {
		const isRegion = i32[entry + Key$7.kind] === keyKind$1.region;
		const used = host.deviceWord(i32[entry + Key$7.device]) + (isRegion ? Dev$16.mrs : Dev$16.mws);
		i32[used] = i32[used] - 1;
		i32[host.at.meta + Meta$8.keysUsed] = i32[host.at.meta + Meta$8.keysUsed] - 1;
		if (!isRegion) unbindWindow(host, entry);
		const pd = i32[entry + Key$7.pd];
		freeKeyEntry(host, entry);
		releasePd(host, pd, isRegion ? Pd.mrs : Pd.mws);
	});
}
/** Counts the windows that are bound to a region anew: a thread that was binding or unbinding one was killed. */
function recountWindows(host, region) {
	const { i32, at } = host;
	const bound = at.keys + region * Key$7.words;
	if (region < 0 || i32[bound + Key$7.kind] !== keyKind$1.region) return;
	let count = 0;
	for (let slot = 0; slot < keySlots; slot++) {
		const window = at.keys + slot * Key$7.words;
		const kind = i32[window + Key$7.kind];
		if (kind !== keyKind$1.window1 && kind !== keyKind$1.window2) continue;
		if (i32[window + Key$7.region] === region && i32[window + Key$7.regionKey] === i32[bound + Key$7.key]) count++;
	}
	Atomics.store(i32, bound + Key$7.region, count);
}
/** Ends a window's binding. */
function unbindWindow(host, entry) {
	const { i32 } = host;
	const region = Atomics.exchange(i32, entry + Key$7.region, -1);
	i32[entry + Key$7.valid] = 0;
	i32[entry + Key$7.qp] = -1;
	host.segment.bumpEpoch();
	if (region < 0) return;
	const bound = host.at.keys + region * Key$7.words;
	if (i32[bound + Key$7.key] === i32[entry + Key$7.regionKey]) Atomics.sub(i32, bound + Key$7.region, 1);
}
// src/verbs/api/memory-region.ts
/** Memory regions and memory windows: rights to ranges of memory, behind random keys. */
const allAccess = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.MwBind | Access.ZeroBased | Access.OnDemand | Access.HugeTlb | Access.FlushGlobal | Access.RelaxedOrdering;
function checkAccess(verb, access) {
	checkInteger(verb, "access", access, 0, 2147483647);
	if ((access & Access.FlushPersistent) !== 0) throw new VerbsError("EOPNOTSUPP", verb, "FlushPersistent needs persistent memory, which shared memory is not");
	if ((access & ~allAccess) !== 0) throw new VerbsError("EINVAL", verb, `access has unknown bits 0x${(access & ~allAccess).toString(16)}`);
	if ((access & (Access.RemoteWrite | Access.RemoteAtomic)) !== 0 && (access & Access.LocalWrite) === 0) throw new VerbsError("EINVAL", verb, "RemoteWrite and RemoteAtomic require LocalWrite");
}
/** Segment address and length of what is to be registered. */
function rangeOf(verb, host, buffer) {
	const { segment } = host;
	if (buffer instanceof Uint8Array) {
		if (buffer.buffer !== segment.buffer) throw new VerbsError("EINVAL", verb, "this buffer lies in memory that the device cannot reach: allocate it with context.alloc(bytes)");
		return {
			addr: buffer.byteOffset,
			length: buffer.byteLength
		};
	}
	if (typeof buffer !== "object" || buffer === null) throw new VerbsError("EINVAL", verb, "buffer must be a Uint8Array from context.alloc, or {addr, length}");
	checkInteger(verb, "addr", buffer.addr, segment.heapStart, segment.sizeBytes);
	checkInteger(verb, "length", buffer.length, 0, segment.sizeBytes - buffer.addr);
	return {
		addr: buffer.addr,
		length: buffer.length
	};
}
var MemoryRegionObject = class MemoryRegionObject extends Handle {
	#pd;
	#host;
	#entry;
	#owned;
	lkey;
	rkey;
	/** Use `pd.regMr` or `context.importMr`. */
	constructor(pd, entry, owned) {
		super("MemoryRegion");
		this.#pd = pd;
		this.#host = pd.context.device.host;
		this.#entry = entry;
		this.#owned = owned;
		this.lkey = this.#host.i32[entry + Key$7.key] >>> 0;
		this.rkey = this.lkey;
	}
	static register(pd, buffer, access, options) {
		checkAccess("regMr", access);
		checkObject("regMr", "options", options);
		const { host, attr, index } = pd.context.device;
		const { addr, length } = rangeOf("regMr", host, buffer);
		if (length > attr.maxMrSize) throw new VerbsError("EINVAL", "regMr", `${length} bytes are more than maxMrSize ${attr.maxMrSize}`);
		const iova = (access & Access.ZeroBased) !== 0 ? 0 : options.iova ?? addr;
		checkInteger("regMr", "iova", iova, 0, Number.MAX_SAFE_INTEGER - length);
		const entry = addKey(host, index, Dev$16.mrs, attr.maxMr, "regMr", "memory regions", () => pd.assertOpen("regMr"), (entry) => {
			const { i32, f64 } = host;
			i32[entry + Key$7.pd] = pd.slot;
			i32[entry + Key$7.access] = access;
			f64[entry + Key$7.addr >> 1] = addr;
			f64[entry + Key$7.length >> 1] = length;
			f64[entry + Key$7.iova >> 1] = iova;
			i32[entry + Key$7.owner] = host.segment.me;
			i32[entry + Key$7.device] = index;
			i32[entry + Key$7.valid] = 1;
			Atomics.add(i32, pd.word + Pd.mrs, 1);
			Atomics.store(i32, entry + Key$7.kind, keyKind$1.region);
		});
		const mr = new MemoryRegionObject(pd, entry, true);
		pd.context.adopt("mr", mr);
		return mr;
	}
	get pd() {
		return this.#pd;
	}
	gone() {
		const { i32 } = this.#host;
		return i32[this.#entry + Key$7.key] !== (this.lkey | 0) || i32[this.#entry + Key$7.kind] !== keyKind$1.region;
	}
	get addr() {
		return this.#host.f64[this.#entry + Key$7.iova >> 1];
	}
	get length() {
		return this.#host.f64[this.#entry + Key$7.length >> 1];
	}
	get access() {
		return this.#host.i32[this.#entry + Key$7.access];
	}
	get handle() {
		return {
			kind: "mr",
			lkey: this.lkey
		};
	}
	rereg(flags, changes) {
		this.assertOpen("rereg");
		checkObject("rereg", "changes", changes);
		checkInteger("rereg", "flags", flags, 1, ReregFlag.ChangeTranslation | ReregFlag.ChangePd | ReregFlag.ChangeAccess);
		const host = this.#host;
		const { i32, f64 } = host;
		const entry = this.#entry;
		if (i32[entry + Key$7.region] > 0) throw new VerbsError("EBUSY", "rereg", "memory windows are bound to this region");
		let range = null;
		if ((flags & ReregFlag.ChangeTranslation) !== 0) {
			if (changes.buffer === void 0) throw new VerbsError("EINVAL", "rereg", "ChangeTranslation needs buffer");
			range = rangeOf("rereg", host, changes.buffer);
		}
		if ((flags & ReregFlag.ChangeAccess) !== 0) {
			if (changes.access === void 0) throw new VerbsError("EINVAL", "rereg", "ChangeAccess needs access");
			checkAccess("rereg", changes.access);
		}
		const { pd } = changes;
		if ((flags & ReregFlag.ChangePd) !== 0) {
			if (pd === void 0) throw new VerbsError("EINVAL", "rereg", "ChangePd needs pd");
			pd.assertOpen("rereg");
			if (pd.context !== this.#pd.context) throw new VerbsError("EINVAL", "rereg", "pd belongs to another context");
		}
		withdrawKey(host, entry);
		if (i32[entry + Key$7.region] > 0) {
			Atomics.store(i32, entry + Key$7.valid, 1);
			throw new VerbsError("EBUSY", "rereg", "memory windows are bound to this region");
		}
		if (range !== null) {
			f64[entry + Key$7.addr >> 1] = range.addr;
			f64[entry + Key$7.length >> 1] = range.length;
			f64[entry + Key$7.iova >> 1] = (this.access & Access.ZeroBased) !== 0 ? 0 : range.addr;
		}
		if ((flags & ReregFlag.ChangeAccess) !== 0) i32[entry + Key$7.access] = changes.access;
		if ((flags & ReregFlag.ChangePd) !== 0 && pd) {
			host.control(() => {
				i32[pd.word + Pd.mrs] = i32[pd.word + Pd.mrs] + 1;
				i32[entry + Key$7.pd] = pd.slot;
				releasePd(host, this.#pd.slot, Pd.mrs);
			});
			this.#pd = pd;
		}
		Atomics.store(i32, entry + Key$7.valid, 1);
	}
	close() {
		if (this.endsImport(this.#owned)) return;
		this.assertOpen("close");
		const { i32 } = this.#host;
		const check = () => {
			const bound = i32[this.#entry + Key$7.region];
			if (bound === 0) return;
			Atomics.store(i32, this.#entry + Key$7.valid, 1);
			throw new VerbsError("EBUSY", "close", `it is in use by ${plural(bound, "memory window")}: invalidate or free them first`);
		};
		check();
		withdrawKey(this.#host, this.#entry);
		check();
		this.markClosed();
		removeKey(this.#host, this.#entry);
		this.#pd.context.disown("mr", this);
	}
};
var MemoryWindowObject = class extends Handle {
	pd;
	type;
	rkey;
	#host;
	#entry;
	/** Use `pd.allocMw`. */
	constructor(pd, type) {
		super("MemoryWindow");
		if (type !== MwType.Type1 && type !== MwType.Type2) throw new VerbsError("EINVAL", "allocMw", "type must be MwType.Type1 or MwType.Type2");
		this.pd = pd;
		this.type = type;
		this.#host = pd.context.device.host;
		const { i32 } = this.#host;
		const { attr, index } = pd.context.device;
		this.#entry = addKey(this.#host, index, Dev$16.mws, attr.maxMw, "allocMw", "memory windows", () => pd.assertOpen("allocMw"), (entry) => {
			i32[entry + Key$7.pd] = pd.slot;
			i32[entry + Key$7.region] = -1;
			i32[entry + Key$7.qp] = -1;
			i32[entry + Key$7.owner] = this.#host.segment.me;
			i32[entry + Key$7.device] = index;
			i32[entry + Key$7.valid] = 0;
			Atomics.add(i32, pd.word + Pd.mws, 1);
			Atomics.store(i32, entry + Key$7.kind, type === MwType.Type1 ? keyKind$1.window1 : keyKind$1.window2);
		});
		this.rkey = i32[this.#entry + Key$7.key] >>> 0;
		pd.context.adopt("mw", this);
	}
	close() {
		this.assertOpen("close");
		this.markClosed();
		destroyKey(this.#host, this.#entry);
		this.pd.context.disown("mw", this);
	}
};
// src/verbs/api/protection-domain.ts
/** Protection domains: what belongs together. */
const members = [
	[
		"mrs",
		Pd.mrs,
		"memory region"
	],
	[
		"mws",
		Pd.mws,
		"memory window"
	],
	[
		"qps",
		Pd.qps,
		"queue pair"
	],
	[
		"srqs",
		Pd.srqs,
		"shared receive queue"
	],
	[
		"ahs",
		Pd.ahs,
		"address handle"
	]
];
var ProtectionDomainObject = class extends Handle {
	context;
	slot;
	ref;
	word;
	#owned;
	/** Use `context.allocPd` or `context.importPd`; `imported` is the record of another thread's. */
	constructor(context, imported) {
		super("ProtectionDomain");
		this.context = context;
		this.#owned = imported === void 0;
		const { host } = context.device;
		const { i32 } = host;
		this.word = imported ?? createRecord(host, "pd", "allocPd", 0, (pd) => {
			i32[pd + Pd.context] = context.slot;
			i32[pd + Pd.owner] = host.segment.me;
			i32[pd + Pd.state] = recordState.live;
		});
		this.ref = i32[this.word + Pd.ref];
		this.slot = slotOf(this.ref);
		if (this.#owned) context.adopt("pd", this);
	}
	get handle() {
		return {
			kind: "pd",
			ref: this.ref
		};
	}
	gone() {
		return isStale(this.context.device.host, this.word, this.ref);
	}
	regMr(buffer, access, options = {}) {
		this.assertOpen("regMr");
		return MemoryRegionObject.register(this, buffer, access, options);
	}
	allocMw(type) {
		this.assertOpen("allocMw");
		return new MemoryWindowObject(this, type);
	}
	createQp(init) {
		this.assertOpen("createQp");
		return QueuePairObject.create(this, init);
	}
	createSrq(init) {
		this.assertOpen("createSrq");
		return SharedReceiveQueueObject.create(this, init);
	}
	createAh(attr) {
		this.assertOpen("createAh");
		return new AddressHandleObject(this, attr);
	}
	createAhFromWc(port, wc, grh) {
		const verb = "createAhFromWc";
		checkObject(verb, "wc", wc);
		checkInteger(verb, "wc.wcFlags", wc.wcFlags, 0, 255);
		checkInteger(verb, "port", port, 1, this.context.device.attr.physPortCnt);
		if (!(grh instanceof Uint8Array)) throw new VerbsError("EINVAL", verb, "grh must be a Uint8Array");
		if ((wc.wcFlags & WcFlag.Grh) === 0) return this.createAh({
			dlid: wc.slid,
			sl: wc.sl,
			portNum: port
		});
		if (grh.length < 40) throw new VerbsError("EINVAL", verb, "grh must be the first 40 bytes of the receive buffer");
		const first = new DataView(grh.buffer, grh.byteOffset, 40).getUint32(0);
		if (first >>> 28 !== 6) {
			const dgid = gidOfIp(grh.subarray(32, 36));
			const sgidIndex = this.#gidIndex(verb, gidOfIp(grh.subarray(36, 40)));
			return this.createAh({
				portNum: port,
				grh: {
					dgid,
					sgidIndex,
					trafficClass: grh[21],
					hopLimit: 64
				}
			});
		}
		return this.createAh({
			dlid: wc.slid,
			sl: wc.sl,
			portNum: port,
			grh: {
				dgid: grh.slice(8, 24),
				sgidIndex: this.#gidIndex(verb, grh.subarray(24, 40)),
				flowLabel: first & 1048575,
				trafficClass: first >>> 20 & 255,
				hopLimit: 64
			}
		});
	}
	/** Index of the GID at which a message came. */
	#gidIndex(verb, gid) {
		const { gids } = this.context.device;
		const own = isMulticastGid(gid) ? gids.find((entry) => isIpv4Gid(entry.gid) === isIpv4Gid(gid)) ?? gids[0] : gids.find((entry) => entry.gid.every((byte, i) => byte === gid[i]));
		if (own === void 0) throw new VerbsError("EINVAL", verb, `the port has no GID ${Buffer.from(gid).toString("hex")}, to which grh says that the message was sent`);
		return own.gidIndex;
	}
	close() {
		if (this.endsImport(this.#owned)) return;
		this.assertOpen("close");
		const { host } = this.context.device;
		for (const [, word, what] of members) {
			const count = host.i32[this.word + word];
			if (count > 0) throw new VerbsError("EBUSY", "close", `it is in use by ${plural(count, what)}`);
		}
		if (!destroyPd(host, this.word, false)) throw new VerbsError("EBUSY", "close", "another thread has just begun to use it");
		this.markClosed();
		this.context.disown("pd", this);
	}
};
// src/verbs/api/context.ts
/** An opened device, as seen by one thread: its limits, its memory, its events, and everything made from it. */
const memberNames = {
	pd: "protection domain",
	cq: "completion queue",
	channel: "completion channel",
	srq: "shared receive queue",
	mr: "memory region",
	mw: "memory window",
	ah: "address handle",
	qp: "queue pair"
};
/** Opens a device by name: `shm0`, `shm1`, `shm:NAME`, …; see `getDeviceList`. */
function openDevice(name = "shm0", options = {}) {
	if (typeof name !== "string") throw new VerbsError("EINVAL", "openDevice", "the name of a device is a string");
	checkObject("openDevice", "options", options);
	if (options.engine !== void 0 && options.engine !== "poster" && options.engine !== "thread") throw new VerbsError("EINVAL", "openDevice", `engine must be 'poster' or 'thread', not ${describe(options.engine)}`);
	if (options.wrap !== void 0 && !Array.isArray(options.wrap)) throw new VerbsError("EINVAL", "openDevice", `wrap must be a list of layers, not ${describe(options.wrap)}`);
	try {
		return new ContextObject(findDevice(name, options), options);
	} catch (error) {
		throw asVerbsError$1(error, "openDevice");
	}
}
var ContextObject = class extends Handle {
	device;
	engine;
	slot;
	#host;
	#word;
	#buffers = /* @__PURE__ */ new Set();
	/** What was made in this context and is open, by kind. */
	#members = {
		pd: /* @__PURE__ */ new Set(),
		cq: /* @__PURE__ */ new Set(),
		channel: /* @__PURE__ */ new Set(),
		srq: /* @__PURE__ */ new Set(),
		mr: /* @__PURE__ */ new Set(),
		mw: /* @__PURE__ */ new Set(),
		ah: /* @__PURE__ */ new Set(),
		qp: /* @__PURE__ */ new Set()
	};
	/** Queue pairs by reference, for events. */
	#qps = /* @__PURE__ */ new Map();
	/** Use `openDevice`. */
	constructor(device, options) {
		super("Context");
		this.device = device;
		this.engine = options.engine ?? "poster";
		const { host } = device;
		this.#host = host;
		const { i32 } = host;
		this.#word = createRecord(host, "context", "openDevice", 0, (c) => {
			i32[c + Ctx$5.device] = device.index;
			i32[c + Ctx$5.owner] = host.segment.me;
			i32[c + Ctx$5.engine] = this.engine === "thread" ? 1 : 0;
			i32[c + Ctx$5.state] = 1;
		});
		this.slot = slotOf(i32[this.#word + Ctx$5.ref]);
		try {
			device.open(this.slot, options);
		} catch (error) {
			host.control(() => giveRecord(host, "context", this.#word));
			throw error;
		}
	}
	get name() {
		return this.device.name;
	}
	queryDevice() {
		this.assertOpen("queryDevice");
		return { ...this.device.attr };
	}
	#port(verb, port) {
		this.assertOpen(verb);
		checkInteger(verb, "port", port, 1, this.device.attr.physPortCnt);
	}
	queryPort(port) {
		this.#port("queryPort", port);
		const { i32 } = this.#host;
		const dev = this.#host.deviceWord(this.device.index);
		return {
			...this.device.port,
			qkeyViolCntr: i32[dev + Dev$16.qkeyViolations],
			badPkeyCntr: i32[dev + Dev$16.badPkeys]
		};
	}
	queryGid(port, index) {
		return this.#gid("queryGid", port, index).gid;
	}
	queryGidEx(port, index) {
		return this.#gid("queryGidEx", port, index);
	}
	#gid(verb, port, index) {
		this.#port(verb, port);
		checkInteger(verb, "index", index, 0, 65535);
		const { gids } = this.device;
		const entry = gids[index];
		if (!entry) throw new VerbsError("ENODATA", verb, `the GID table has ${plural(gids.length, "entry", "entries")}; there is no entry ${index}`);
		return {
			...entry,
			gid: entry.gid.slice()
		};
	}
	queryGidTable() {
		this.assertOpen("queryGidTable");
		return this.device.gids.map((entry) => ({
			...entry,
			gid: entry.gid.slice()
		}));
	}
	queryPkey(port, index) {
		this.#port("queryPkey", port);
		checkInteger("queryPkey", "index", index, 0, this.device.pkeys.length - 1);
		return this.device.pkeys[index];
	}
	getPkeyIndex(port, pkey) {
		this.#port("getPkeyIndex", port);
		checkInteger("getPkeyIndex", "pkey", pkey, 0, 65535);
		const index = this.device.pkeys.indexOf(pkey);
		if (index < 0) throw new VerbsError("EINVAL", "getPkeyIndex", `P_Key 0x${pkey.toString(16)} is not in the table`);
		return index;
	}
	counters() {
		this.assertOpen("counters");
		return this.#host.counters(this.device.index);
	}
	alloc(bytes) {
		this.assertOpen("alloc");
		checkInteger("alloc", "bytes", bytes, 1, this.#host.segment.sizeBytes);
		const at = this.#host.allocate(bytes, "alloc");
		this.#buffers.add(at);
		return new Uint8Array(this.#host.segment.buffer, at, bytes);
	}
	view(addr, length) {
		this.assertOpen("view");
		const { segment } = this.#host;
		checkInteger("view", "addr", addr, segment.heapStart, segment.sizeBytes);
		checkInteger("view", "length", length, 0, segment.sizeBytes - addr);
		return new Uint8Array(segment.buffer, addr, length);
	}
	free(buffer) {
		this.assertOpen("free");
		if (!(buffer instanceof Uint8Array) || buffer.buffer !== this.#host.segment.buffer || !this.#buffers.delete(buffer.byteOffset)) throw new VerbsError("EINVAL", "free", "this buffer was not allocated by this context, or was freed already");
		this.#host.segment.free(buffer.byteOffset);
	}
	allocPd() {
		this.assertOpen("allocPd");
		return new ProtectionDomainObject(this);
	}
	createCompChannel() {
		this.assertOpen("createCompChannel");
		return new CompletionChannelObject(this);
	}
	createCq(cqe, init = {}) {
		this.assertOpen("createCq");
		return CompletionQueueObject.create(this, cqe, init);
	}
	importPd(handle) {
		this.assertOpen("importPd");
		return new ProtectionDomainObject(this, recordOfHandle(this.#host, "importPd", "pd", handle));
	}
	importMr(handle) {
		this.assertOpen("importMr");
		if (handle?.kind !== "mr" || typeof handle.lkey !== "number") throw new VerbsError("EINVAL", "importMr", "this is not the handle of a memory region");
		const { i32 } = this.#host;
		const entry = this.#host.findKey(handle.lkey | 0);
		if (entry < 0 || i32[entry + Key$7.kind] !== keyKind$1.region) throw new VerbsError("EINVAL", "importMr", "there is no such memory region any more");
		return new MemoryRegionObject(this.#importedPd(i32[entry + Key$7.pd]), entry, false);
	}
	importCq(handle) {
		this.assertOpen("importCq");
		const cq = recordOfHandle(this.#host, "importCq", "cq", handle);
		return new CompletionQueueObject(this, cq, false, null, void 0);
	}
	importSrq(handle) {
		this.assertOpen("importSrq");
		const srq = recordOfHandle(this.#host, "importSrq", "srq", handle);
		return new SharedReceiveQueueObject(this.#importedPd(this.#host.i32[srq + Srq$4.pd]), srq, false);
	}
	importQp(handle) {
		this.assertOpen("importQp");
		const host = this.#host;
		const { i32 } = host;
		const q = recordOfHandle(host, "importQp", "qp", handle);
		if (i32[q + Qp$24.type] !== handle.type) throw new VerbsError("EINVAL", "importQp", "the handle names another type than its QP has");
		if (i32[q + Qp$24.device] !== this.device.index) throw new VerbsError("EINVAL", "importQp", `this QP was made on another device than ${this.device.name}`);
		const pd = this.#importedPd(i32[q + Qp$24.pd]);
		const cq = (slot) => new CompletionQueueObject(this, host.cqWord(slot), false, null, void 0);
		const sendCq = cq(i32[q + Qp$24.sendCq]);
		const recvCq = i32[q + Qp$24.recvCq] === i32[q + Qp$24.sendCq] ? sendCq : cq(i32[q + Qp$24.recvCq]);
		const srq = i32[q + Qp$24.srq];
		return new QueuePairObject(pd, q, handle.type, false, {
			sendCq,
			recvCq,
			...srq >= 0 ? { srq: new SharedReceiveQueueObject(pd, host.srqWord(srq), false) } : {},
			qpContext: void 0
		});
	}
	#importedPd(slot) {
		return new ProtectionDomainObject(this, this.#host.at.pds + slot * Pd.words);
	}
	adopt(kind, member) {
		this.#members[kind].add(member);
		if (kind === "qp") this.#qps.set(member.ref, member);
	}
	disown(kind, member) {
		this.#members[kind].delete(member);
		if (kind === "qp") this.#qps.delete(member.ref);
	}
	pollAsyncEvent() {
		this.assertOpen("pollAsyncEvent");
		const { i32, segment } = this.#host;
		const c = this.#word;
		if (i32[this.#host.pendingCount] !== 0 || this.device.driven) this.device.progress();
		let event = null;
		while (event === null) {
			if (Atomics.load(i32, c + Ctx$5.eventTail) === i32[c + Ctx$5.eventHead]) return null;
			segment.lock(c + Ctx$5.eventLock);
			const head = i32[c + Ctx$5.eventHead];
			if (i32[c + Ctx$5.eventTail] !== head) {
				const e = c + Ctx$5.events + (head & Ctx$5.eventSlots - 1) * 4;
				event = this.#event(i32[e], i32[e + 1], i32[e + 2], i32[e + 3]);
				Atomics.store(i32, c + Ctx$5.eventHead, head + 1 | 0);
			}
			segment.unlock(c + Ctx$5.eventLock);
		}
		return event;
	}
	/** Null if the object that `ref` names is gone. */
	#event(type, kind, ref, number) {
		const event = {
			type,
			name: nameOf$2(EventType, type)
		};
		if (kind === elementKind.qp) {
			const qp = this.#qps.get(ref);
			if (!qp || recordOf$1(this.#host, "qp", ref) === -1) return null;
			event.qp = qp;
			event.qpNum = number;
		} else if (kind === elementKind.cq) {
			for (const cq of this.#members.cq) if (cq.ref === ref) event.cq = cq;
			if (!event.cq) return null;
		} else if (kind === elementKind.srq) {
			for (const srq of this.#members.srq) if (srq.ref === ref) event.srq = srq;
			if (!event.srq) return null;
		} else if (kind === elementKind.port) event.portNum = ref;
		return event;
	}
	getAsyncEvent(timeoutMs = Number.POSITIVE_INFINITY) {
		const { i32, segment, pendingCount } = this.#host;
		const end = performance.now() + timeoutMs;
		for (;;) {
			const tail = Atomics.load(i32, this.#word + Ctx$5.eventTail);
			const event = this.pollAsyncEvent();
			if (event) return event;
			const left = end - performance.now();
			if (left <= 0) return null;
			this.device.rest(false);
			segment.parking.park(this.#word + Ctx$5.eventTail, tail, Math.min(left, i32[pendingCount] !== 0 ? 1 : 1e3));
		}
	}
	/** Events as they come: `for await (const event of context.asyncEvents())`. Ends when the context closes. */
	async *asyncEvents() {
		const { i32, segment } = this.#host;
		while (!this.closed) {
			const tail = Atomics.load(i32, this.#word + Ctx$5.eventTail);
			const event = this.pollAsyncEvent();
			if (event) yield event;
			else {
				this.device.rest(true);
				await segment.parking.waitInLoop(this.#word + Ctx$5.eventTail, tail, 100);
			}
		}
	}
	ackAsyncEvent(_event) {}
	close() {
		this.assertOpen("close");
		for (const [kind, members] of Object.entries(this.#members)) if (members.size > 0) throw new VerbsError("EBUSY", "close", `still open in this context: ${plural(members.size, memberNames[kind])}`);
		this.markClosed();
		for (const at of this.#buffers) this.#host.segment.free(at);
		this.#end();
	}
	#end() {
		this.device.close(this.slot);
		const { segment } = this.#host;
		this.#host.control(() => giveRecord(this.#host, "context", this.#word));
		segment.wake(segment.me);
	}
};
// src/verbs/provider/host.ts
/**
* What all adapters of a segment have in common, seen from one thread: completions, events, key look-up and flushing, so that
* every device that keeps its queues in the segment shares them.
*
* Lock order: send queue, then receive queue or SRQ, then CQ; channel and event locks are taken last, alone. Nobody takes
* the send queue lock of a second QP while holding one: what must happen to a peer's send queue is deferred.
*/
/** The completion opcode of each send opcode. */
const completionOpcode = {
	[Opcode.Send]: WcOpcode.Send,
	[Opcode.SendWithImm]: WcOpcode.Send,
	[Opcode.SendWithInv]: WcOpcode.Send,
	[Opcode.Write]: WcOpcode.Write,
	[Opcode.WriteWithImm]: WcOpcode.Write,
	[Opcode.Read]: WcOpcode.Read,
	[Opcode.AtomicCmpAndSwp]: WcOpcode.CompSwap,
	[Opcode.AtomicFetchAndAdd]: WcOpcode.FetchAdd,
	[Opcode.LocalInv]: WcOpcode.LocalInv,
	[Opcode.BindMw]: WcOpcode.BindMw,
	[Opcode.Flush]: WcOpcode.Flush,
	[Opcode.AtomicWrite]: WcOpcode.AtomicWrite
};
const completionOpcodes = /* @__PURE__ */ new Uint8Array(16);
for (const [opcode, wc] of Object.entries(completionOpcode)) completionOpcodes[Number(opcode)] = wc;
var Host = class extends EventTables {
	/** First word of the `Journal` in which this thread says what it completes, 0 while it says so nowhere. */
	journal = 0;
	/** The entry with this key, or −1. */
	findKey(key) {
		const i32 = this.i32;
		let slot = key >>> 8 & 262143;
		for (let probes = 0; probes < keySlots; probes++) {
			const entry = this.at.keys + slot * Key$7.words;
			const kind = i32[entry + Key$7.kind];
			if (kind === keyKind$1.free) return -1;
			if (i32[entry + Key$7.key] === key && kind !== keyKind$1.deleted) return entry;
			slot = slot + 1 & 262143;
		}
		return -1;
	}
	/**
	* The segment address behind `addr` in the region or window with this key, or −1 if key, protection domain, access
	* rights, or bounds forbid it. `qp` is the slot of the QP at which a remote access arrives, −1 for a local access.
	*/
	resolve(key, pd, addr, length, access, qp) {
		const { i32, f64, segment } = this;
		const epoch = i32[segment.epochWord];
		const entry = this.findKey(key);
		if (entry < 0 || i32[entry + Key$7.pd] !== pd || i32[entry + Key$7.valid] !== 1) return -1;
		if ((i32[entry + Key$7.access] & access) !== access) return -1;
		const kind = i32[entry + Key$7.kind];
		if (kind !== keyKind$1.region && (qp < 0 || kind === keyKind$1.window2 && i32[entry + Key$7.qp] !== qp)) return -1;
		const offset = addr - f64[entry + Key$7.iova >> 1];
		if (!(offset >= 0 && length >= 0 && offset + length <= f64[entry + Key$7.length >> 1])) return -1;
		const at = f64[entry + Key$7.addr >> 1] + offset;
		if (kind !== keyKind$1.region && (Atomics.load(i32, segment.epochWord) !== epoch || Atomics.load(i32, entry + Key$7.key) !== key)) return this.resolve(key, pd, addr, length, access, qp);
		return at;
	}
	/** First word of the QP with this number, or −1. */
	findQp(number) {
		const { i32 } = this;
		let at = number & 131071;
		for (let probes = 0; probes < qpNumberSlots; probes++) {
			const entry = i32[this.at.qpNumbers + at];
			if (entry === 0) return -1;
			if (entry > 0) {
				const q = this.qpWord(entry - 1);
				if (i32[q + Qp$24.number] === number) return q;
			}
			at = at + 1 & 131071;
		}
		return -1;
	}
	/** Locks a CQ for one completion and returns where to write it, or −1 if the CQ is full, or was: then it is overrun and not locked. */
	reserve(cq) {
		const { i32, segment } = this;
		segment.lock(cq + Cq$1.lock);
		const head = i32[cq + Cq$1.head];
		const cqe = i32[cq + Cq$1.cqe];
		let fits = i32[cq + Cq$1.state] === cqState.live;
		if (fits && (head - i32[cq + Cq$1.tailSeen] | 0) >= cqe) {
			const tail = Atomics.load(i32, cq + Cq$1.tail);
			i32[cq + Cq$1.tailSeen] = tail;
			fits = (head - tail | 0) < cqe;
		}
		if (!fits) {
			segment.unlock(cq + Cq$1.lock);
			this.#overrun(cq);
			return -1;
		}
		const e = i32[cq + Cq$1.ring] + (head & i32[cq + Cq$1.mask]) * Cqe$2.words;
		if (i32[e + Cqe$2.sequence] !== (head + 1 | 0)) return e;
		this.countPublished(cq);
		segment.unlock(cq + Cq$1.lock);
		return this.reserve(cq);
	}
	/** Counts a completion whose publisher died before it could count it; the lock of the CQ is held. */
	countPublished(cq) {
		const { i32 } = this;
		const head = i32[cq + Cq$1.head];
		if (i32[i32[cq + Cq$1.ring] + (head & i32[cq + Cq$1.mask]) * Cqe$2.words + Cqe$2.sequence] === (head + 1 | 0)) i32[cq + Cq$1.head] = head + 1 | 0;
	}
	/** Writes the completion at `e` from `reserve`, publishes it, unlocks the CQ and fires its event if it is armed. */
	commit(cq, e, wrId, status, opcode, flags, byteLen, immData, qp, srcQpOrReleases, solicited) {
		const { i32, segment } = this;
		const head = i32[cq + Cq$1.head];
		i32[e + Cqe$2.what] = packWhat(status, opcode, flags);
		this.f64[e + Cqe$2.wrId >> 1] = wrId;
		i32[e + Cqe$2.byteLen] = byteLen;
		i32[e + Cqe$2.immData] = immData;
		i32[e + Cqe$2.qpNum] = i32[qp + Qp$24.number];
		i32[e + Cqe$2.srcQpOrReleases] = srcQpOrReleases;
		i32[e + Cqe$2.qpSlot] = this.qpSlot(qp);
		if (opcode >= WcOpcode.Recv) i32[e + Cqe$2.rqTail] = i32[qp + Qp$24.rqTail];
		segment.publish(e + Cqe$2.sequence, head + 1 | 0);
		i32[cq + Cq$1.head] = head + 1 | 0;
		if (i32[cq + Cq$1.channel] < 0) segment.unlock(cq + Cq$1.lock);
		else {
			Atomics.store(i32, cq + Cq$1.lock, 0);
			this.fireIfArmed(cq, solicited || status !== WcStatus.Success);
		}
	}
	/** After a completion was published, and a full barrier: makes the event for which the CQ is armed, if it is. */
	fireIfArmed(cq, solicited) {
		const { i32 } = this;
		const armed = i32[cq + Cq$1.armed];
		if ((armed === 2 || armed === 1 && solicited) && Atomics.compareExchange(i32, cq + Cq$1.armed, armed, 0) === armed) this.fire(cq);
	}
	/** One completion from start to end; false if the CQ overran. */
	complete(cq, wrId, status, opcode, flags, byteLen, immData, qp, srcQpOrReleases, solicited) {
		const e = this.reserve(cq);
		if (e < 0) return false;
		this.commit(cq, e, wrId, status, opcode, flags, byteLen, immData, qp, srcQpOrReleases, solicited);
		return true;
	}
	/**
	* Notes in the journal that a completion is about to be published, in the CQ that is reserved, and that the queue of `q` is
	* advanced to `queue`.
	*/
	#note(stage, cq, wrId, what, byteLen, immData, q, srcQpOrReleases, solicited, queue) {
		const { i32, journal } = this;
		i32[journal + Journal.qp] = i32[q + Qp$24.ref];
		i32[journal + Journal.queue] = queue;
		i32[journal + Journal.sequence] = i32[cq + Cq$1.head] + 1 | 0;
		i32[journal + Journal.what] = what;
		i32[journal + Journal.byteLen] = byteLen;
		i32[journal + Journal.immData] = immData;
		i32[journal + Journal.srcQpOrReleases] = srcQpOrReleases;
		this.f64[journal + Journal.wrId >> 1] = wrId;
		i32[journal + Journal.solicited] = solicited ? 1 : 0;
		i32[journal + Journal.stage] = stage;
	}
	/** Notes in the journal that the window `entry` is about to be bound or invalidated. */
	noteWindow(entry) {
		const { i32, journal } = this;
		if (journal === 0) return;
		i32[journal + Journal.window] = entry;
		i32[journal + Journal.windowKey] = i32[entry + Key$7.key];
		i32[journal + Journal.windowRegion] = i32[entry + Key$7.region];
		i32[journal + Journal.stage] = journalStage.window;
	}
	/** What was begun is done. */
	#noted() {
		if (this.journal !== 0) this.i32[this.journal + Journal.stage] = journalStage.none;
	}
	/** Completes a receive of `q`, the one before `tail` if it is in a queue of its own; false if the CQ overran. */
	completeReceive(q, tail, wrId, status, opcode, flags, byteLen, immData, srcQp, solicited) {
		const { i32 } = this;
		const cq = this.cqWord(i32[q + Qp$24.recvCq]);
		const e = this.reserve(cq);
		if (e >= 0 && this.journal !== 0) {
			const what = packWhat(status, opcode, flags);
			this.#note(journalStage.receive, cq, wrId, what, byteLen, immData, q, srcQp, solicited, tail);
		}
		if (i32[q + Qp$24.srq] < 0) this.segment.publish(q + Qp$24.rqTail, tail);
		if (e < 0) return false;
		this.commit(cq, e, wrId, status, opcode, flags, byteLen, immData, q, srcQp, solicited);
		this.#noted();
		return true;
	}
	#overrun(cq) {
		const { i32 } = this;
		if (Atomics.compareExchange(i32, cq + Cq$1.state, cqState.live, cqState.overrun) !== cqState.live) return;
		this.segment.bumpEpoch();
		this.count(i32[cq + Cq$1.device], "cq_overruns");
		this.cqEvent(cq, EventType.CqErr);
		this.wakeChannel(cq);
	}
	/** Marks the completions of a QP that is reset or destroyed, so that polling passes over them. */
	purgeCompletions(cq, qpNum) {
		const { i32, segment } = this;
		segment.lock(cq + Cq$1.pollLock);
		segment.lock(cq + Cq$1.lock);
		const ended = i32[cq + Cq$1.state] === cqState.dead;
		if (!ended) this.countPublished(cq);
		for (let at = i32[cq + Cq$1.tail]; !ended && at !== i32[cq + Cq$1.head]; at = at + 1 | 0) {
			const e = i32[cq + Cq$1.ring] + (at & i32[cq + Cq$1.mask]) * Cqe$2.words;
			if (i32[e + Cqe$2.qpNum] === qpNum) i32[e + Cqe$2.what] = 255;
		}
		segment.unlock(cq + Cq$1.lock);
		segment.unlock(cq + Cq$1.pollLock);
	}
	/** Takes a QP off the list of those that wait for a receive of an SRQ. */
	stopWaiting(q) {
		const { i32, segment } = this;
		const srqSlot = i32[q + Qp$24.waitingOn] - 1;
		if (srqSlot < 0) return;
		const srq = this.srqWord(srqSlot);
		segment.lock(srq + Srq$4.lock);
		const slot = this.qpSlot(q) + 1;
		for (let at = srq + Srq$4.waiting; i32[at] !== 0; at = this.qpWord(i32[at] - 1) + Qp$24.nextWaiting) {
			if (i32[at] !== slot) continue;
			i32[at] = i32[q + Qp$24.nextWaiting];
			break;
		}
		i32[q + Qp$24.nextWaiting] = 0;
		i32[q + Qp$24.waitingOn] = 0;
		segment.unlock(srq + Srq$4.lock);
	}
	/**
	* Takes the next receive of an SRQ and copies it to `to[at]`, since its entry may be used again at once: `at`, or `noReceive`,
	* or `receiveTooShort` if it holds less than `bytes`; then it stays. Makes the event for which a limit was set.
	*/
	takeFromSrq(srqSlot, to, at, bytes) {
		const { i32, segment } = this;
		const srq = this.srqWord(srqSlot);
		segment.lock(srq + Srq$4.lock);
		const tail = i32[srq + Srq$4.tail];
		const head = Atomics.load(i32, srq + Srq$4.head);
		if (tail === head || i32[srq + Srq$4.state] !== recordState.live) {
			segment.unlock(srq + Srq$4.lock);
			return -1;
		}
		const stride = i32[srq + Srq$4.stride];
		const r = i32[srq + Srq$4.ring] + (tail & i32[srq + Srq$4.mask]) * stride;
		if (this.receiveIsShort(r, bytes)) {
			segment.unlock(srq + Srq$4.lock);
			return -2;
		}
		for (let i = 0; i < stride; i++) to[at + i] = i32[r + i];
		Atomics.store(i32, srq + Srq$4.tail, tail + 1 | 0);
		const limit = i32[srq + Srq$4.limit];
		if (limit > 0 && (head - tail - 1 | 0) < limit) {
			i32[srq + Srq$4.limit] = 0;
			this.srqEvent(srq, EventType.SrqLimitReached);
		}
		segment.unlock(srq + Srq$4.lock);
		return at;
	}
	/** Whether the elements of the receive at `r` hold less than `bytes`. */
	receiveIsShort(r, bytes) {
		if (bytes === 0) return false;
		const { i32 } = this;
		let room = 0;
		for (let i = 0, s = r + Rwqe$4.data; i < i32[r + Rwqe$4.sges]; i++, s += Sg$6.words) room += i32[s + Sg$6.length] >>> 0;
		return room < bytes;
	}
	/** In SQD: says once that all requests posted before are done. */
	drained(q) {
		const { i32 } = this;
		if (i32[q + Qp$24.sqDraining] !== 1 || (i32[q + Qp$24.sqNext] - i32[q + Qp$24.sqDrainAt] | 0) < 0) return;
		i32[q + Qp$24.sqDraining] = 0;
		if (i32[q + Qp$24.sqDrainNotify] === 1) this.qpEvent(q, EventType.SqDrained);
	}
	/** Flushes the receive queue; the receive lock is held. */
	flushReceives(q) {
		const { i32, f64 } = this;
		if (i32[q + Qp$24.srq] >= 0) {
			if (i32[q + Qp$24.lastWqe] === 0) {
				i32[q + Qp$24.lastWqe] = 1;
				this.qpEvent(q, EventType.QpLastWqeReached);
			}
			return;
		}
		const { WrFlushErr } = WcStatus;
		for (;;) {
			const tail = i32[q + Qp$24.rqTail];
			if (tail === Atomics.load(i32, q + Qp$24.rqHead)) return;
			const r = i32[q + Qp$24.rqRing] + (tail & i32[q + Qp$24.rqMask]) * i32[q + Qp$24.rqStride];
			this.completeReceive(q, tail + 1 | 0, f64[r + Rwqe$4.wrId >> 1], WrFlushErr, WcOpcode.Recv, 0, 0, 0, 0, false);
		}
	}
	/** Flushes what is in the send queue; the send lock is held. */
	flushSends(q) {
		const { i32 } = this;
		while (i32[q + Qp$24.sqNext] !== i32[q + Qp$24.sqHead]) this.completeSend(q, WcStatus.WrFlushErr, 0);
	}
	/**
	* Ends the request at the front of the send queue with this status; a completion is made if it is an error or signaled.
	* False if the CQ overran: then the QP is in ERR, with the event QP_FATAL, and its receives are still to be flushed.
	*/
	completeSend(q, status, byteLen) {
		const { i32, f64 } = this;
		const next = i32[q + Qp$24.sqNext];
		const w = i32[q + Qp$24.sqRing] + (next & i32[q + Qp$24.sqMask]) * i32[q + Qp$24.sqStride];
		const after = next + 1 | 0;
		if (status === WcStatus.Success && (i32[w + Wqe$14.flags] & SendFlag.Signaled) === 0 && i32[q + Qp$24.sqSigAll] === 0) {
			i32[q + Qp$24.sqNext] = after;
			return true;
		}
		const cq = this.cqWord(i32[q + Qp$24.sendCq]);
		const opcode = completionOpcodes[i32[w + Wqe$14.opcode]];
		const wrId = f64[w + Wqe$14.wrId >> 1];
		const e = this.reserve(cq);
		if (e >= 0 && this.journal !== 0) this.#note(journalStage.send, cq, wrId, packWhat(status, opcode, 0), byteLen, 0, q, after, false, after);
		i32[q + Qp$24.sqNext] = after;
		if (e < 0) {
			if (this.breakQp(q, QpState.Err)) this.qpEvent(q, EventType.QpFatal);
			return false;
		}
		this.commit(cq, e, wrId, status, opcode, 0, byteLen, 0, q, after, false);
		this.#noted();
		return true;
	}
	setState(q, state) {
		Atomics.store(this.i32, q + Qp$24.state, state);
		this.segment.bumpEpoch();
	}
	/** Moves a QP to an error state because of what happened, unless its owner has reset it meanwhile. */
	breakQp(q, state) {
		const { i32 } = this;
		for (;;) {
			const from = Atomics.load(i32, q + Qp$24.state);
			if (from === QpState.Reset || from === QpState.Err) return false;
			if (Atomics.compareExchange(i32, q + Qp$24.state, from, state) === from) break;
		}
		this.segment.bumpEpoch();
		return true;
	}
	/**
	* Locks a send queue against everyone, also against the thread that may use it without the lock: after a second thread
	* has come, there is none such any more. This thread may not be in an operation.
	*/
	lockSends(q) {
		const { i32, segment } = this;
		segment.lock(q + Qp$24.sqLock);
		const bias = i32[q + Qp$24.bias];
		if (bias > 0 && bias !== segment.me) {
			i32[q + Qp$24.bias] = -1;
			segment.bumpEpoch();
			segment.quiesce();
		}
	}
	/**
	* Flushes both queues of a QP that is in ERR, receives first, in order; no lock may be held, and a grace period must
	* have passed since the state changed. A repeated call flushes what was posted meanwhile. Nothing is done if the QP that
	* `ref` names is gone, or not in ERR.
	*/
	flushBroken(ref) {
		const { i32, segment } = this;
		const q = this.qpWord(slotOf(ref));
		segment.lock(q + Qp$24.rqLock);
		const broken = i32[q + Qp$24.ref] === ref && i32[q + Qp$24.state] === QpState.Err;
		if (broken) this.flushReceives(q);
		segment.unlock(q + Qp$24.rqLock);
		if (!broken) return;
		this.lockSends(q);
		if (i32[q + Qp$24.ref] === ref && i32[q + Qp$24.state] === QpState.Err) {
			this.flushSends(q);
			i32[q + Qp$24.pending] = 0;
		}
		segment.unlock(q + Qp$24.sqLock);
	}
};
// src/verbs/provider/ports.ts
/** Gives free what a thread that ended had; how many ports that were. */
function reapPorts(host, owner) {
	const { i32, at } = host;
	let reaped = 0;
	host.control(() => {
		for (let slot = 0; slot < i32[at.meta + Meta$8.portsUsed]; slot++) {
			const p = portWord(host, slot);
			if (i32[p + Port.state] !== 1 || i32[p + Port.owner] !== owner) continue;
			unchain(host, slot);
			reaped++;
		}
	});
	return reaped;
}
function unchain(host, slot) {
	const { i32, at } = host;
	const p = portWord(host, slot);
	let link = at.portHeads + i32[p + Port.port];
	while (i32[link] !== slot + 1 && i32[link] !== 0) link = portWord(host, i32[link] - 1) + Port.next;
	if (i32[link] === slot + 1) Atomics.store(i32, link, i32[p + Port.next]);
	giveRecord(host, "port", p);
}
function portWord(host, slot) {
	return host.at.ports + slot * Port.words;
}
// src/verbs/provider/reap.ts
/** What a thread leaves behind that ended without closing its objects. */
/**
* Destroys everything that a thread owned, as the kernel destroys what a process leaves behind, and wakes all that wait. The objects
* are counted at the first device of the segment, and at each other one that the thread had open.
*/
function reapAttachment(host, owner) {
	const { i32, at } = host;
	let reaped = 0;
	for (let index = 0; index < 64; index++) if (i32[host.deviceWord(index) + Dev$16.transport] !== 0) deviceAt(host, index)?.takeOver?.();
	const each = (table, words, used, stateWord, ownerWord, destroy) => {
		for (let slot = 0; slot < i32[at.meta + used]; slot++) {
			const word = table + slot * words;
			if (i32[word + stateWord] !== 0 && i32[word + ownerWord] === owner) {
				destroy(word);
				reaped++;
			}
		}
	};
	each(at.qps, Qp$24.words, Meta$8.qpsUsed, Qp$24.number, Qp$24.owner, (q) => destroyQp(host, q));
	each(at.srqs, Srq$4.words, Meta$8.srqsUsed, Srq$4.state, Srq$4.owner, (srq) => destroySrq(host, srq, true));
	each(at.cqs, Cq$1.words, Meta$8.cqsUsed, Cq$1.state, Cq$1.owner, (cq) => destroyCq(host, cq, true));
	if (i32[at.meta + Meta$8.keysUsed] > 0) for (let slot = 0; slot < keySlots; slot++) {
		const entry = at.keys + slot * Key$7.words;
		const kind = i32[entry + Key$7.kind];
		if (kind !== keyKind$1.free && kind !== keyKind$1.deleted && i32[entry + Key$7.owner] === owner) {
			destroyKey(host, entry);
			reaped++;
		}
	}
	each(at.channels, Chan$1.words, Meta$8.channelsUsed, Chan$1.state, Chan$1.owner, (chan) => host.control(() => giveRecord(host, "channel", chan)));
	each(at.pds, Pd.words, Meta$8.pdsUsed, Pd.state, Pd.owner, (pd) => {
		const device = i32[host.ctxWord(i32[pd + Pd.context]) + Ctx$5.device];
		Atomics.sub(i32, host.deviceWord(device) + Dev$16.ahs, i32[pd + Pd.ahs]);
		destroyPd(host, pd, true);
	});
	const devices = /* @__PURE__ */ new Set();
	each(at.contexts, Ctx$5.words, Meta$8.contextsUsed, Ctx$5.state, Ctx$5.owner, (c) => {
		devices.add(i32[c + Ctx$5.device]);
		host.control(() => giveRecord(host, "context", c));
	});
	recount(host);
	for (let slot = 0; slot < i32[at.meta + Meta$8.channelsUsed]; slot++) {
		const chan = host.chanWord(slot);
		if (i32[chan + Chan$1.state] !== 0) host.wakeWaiters(chan);
	}
	for (const index of devices) deviceAt(host, index)?.closeUnused?.();
	reaped += reapPorts(host, owner);
	for (const index of devices.add(0)) for (let i = 0; i < reaped; i++) host.count(index, "stale_objects_reaped");
}
// src/verbs/api/process-host.ts
/** The segment that all threads of this process share, with its tables made ready: one `Host` for each thread. */
const platform = { randomInt };
/** The tables of a segment, for this thread. */
function hostOf(segment) {
	return new Host(segment, platform);
}
/**
* What new segments are made with. VERBENA_SHM_MIB is how many MiB buffers and queues may take; the tables come on top.
* EINVAL if that is not from 1 to 2048.
*/
function segmentOptions() {
	const mib = Number(process.env.VERBENA_SHM_MIB || 1024);
	if (!Number.isInteger(mib) || mib < 1 || mib > 2048) throw new VerbsError("EINVAL", "openDevice", `VERBENA_SHM_MIB must be an integer from 1 to 2048, not '${process.env.VERBENA_SHM_MIB}'`);
	const staticBytes = Tables$1.words * 4;
	return {
		staticBytes,
		sizeBytes: segmentBytes$2(staticBytes, mib * 2 ** 20),
		committed: unorderedTables()
	};
}
let own = null;
function processHost() {
	if (own === null) {
		own = hostOf(Segment.ofProcess(segmentOptions()));
		reapDead(own);
	}
	return own;
}
/** Cleans up after all threads that ended without closing what they had; how many. */
function reapDead(host) {
	const dead = host.segment.deadAttachments();
	for (const use of dead) reap(host, use);
	return dead.length;
}
/** Gives back what this process has, which ends: its threads' objects, in the main thread those of all. */
function reapOwn(host) {
	for (const use of host.segment.ownAttachments()) reap(host, use);
}
/** Cleans up after a thread, by its use of an attachment. */
function reap(host, use) {
	const attachment = host.control(() => host.segment.claim(use));
	if (attachment === 0) return;
	reapAttachment(host, attachment);
	host.segment.release(attachment);
}
process.on("worker", (worker) => worker.once("exit", () => {
	if (own === null && !Segment.isUsedInProcess()) return;
	reapDead(processHost());
}));
process.on("exit", () => {
	if (own !== null) reapOwn(own);
});
try {
	Segment.prepareProcess(segmentOptions());
} catch {}
// src/verbs/provider/journal.ts
/** The QP that the journal names, −1 if it has been destroyed. */
function journalQp(host, journal) {
	const ref = host.i32[journal + Journal.qp];
	const q = host.qpWord(slotOf(ref));
	return host.i32[q + Qp$24.ref] === ref && host.i32[q + Qp$24.number] !== 0 ? q : -1;
}
/**
* Finishes the completion in the journal. False if its CQ overran. This thread's own journal may be the same one: if it is
* killed as well, the next one finds it as it was.
*/
function finishCompletion(host, journal, q) {
	const { i32, f64, segment } = host;
	const send = i32[journal + Journal.stage] === journalStage.send;
	const cq = host.cqWord(i32[q + (send ? Qp$24.sendCq : Qp$24.recvCq)]);
	const queue = i32[journal + Journal.queue];
	if (send) i32[q + Qp$24.sqNext] = queue;
	else if (i32[q + Qp$24.srq] < 0) segment.publish(q + Qp$24.rqTail, queue);
	if (isPublished(host, journal, q, cq)) {
		host.wakeChannel(cq);
		return true;
	}
	const e = host.reserve(cq);
	if (e < 0) return false;
	i32[journal + Journal.sequence] = i32[cq + Cq$1.head] + 1 | 0;
	const what = i32[journal + Journal.what];
	host.commit(cq, e, f64[journal + Journal.wrId >> 1], what & 255, what >> 8 & 255, what >>> 16, i32[journal + Journal.byteLen], i32[journal + Journal.immData], q, i32[journal + Journal.srcQpOrReleases], i32[journal + Journal.solicited] === 1);
	return true;
}
/** Whether the completion in the journal is in the CQ, or was: another thread may have taken the lock of the CQ, and its entry. */
function isPublished(host, journal, q, cq) {
	const { i32, f64 } = host;
	if (i32[cq + Cq$1.state] === cqState.dead) return true;
	const sequence = i32[journal + Journal.sequence];
	const e = i32[cq + Cq$1.ring] + (sequence - 1 & i32[cq + Cq$1.mask]) * Cqe$2.words;
	if (i32[e + Cqe$2.sequence] !== sequence) return (i32[cq + Cq$1.head] - sequence | 0) >= 0;
	return i32[e + Cqe$2.qpSlot] === host.qpSlot(q) && i32[e + Cqe$2.what] === i32[journal + Journal.what] && f64[e + Cqe$2.wrId >> 1] === f64[journal + Journal.wrId >> 1];
}
// src/verbs/provider/limits.ts
/** What the query verbs say of every device that keeps its queues in a segment: the sizes of its tables, and what differs. */
/** The longest message, bytes: the standard's 2^31. */
const maxMessageBytes = maxMessage;
/** `maxRdAtomic`: READs and atomics that one QP may have outstanding, on either side. */
function deviceAttr(host, guid, own) {
	return {
		fwVer: "1.0.0",
		nodeGuid: guid,
		sysImageGuid: guid,
		vendorId: 5653070,
		vendorPartId: own.vendorPartId,
		hwVer: 1,
		maxMrSize: host.segment.sizeBytes,
		pageSizeCap: 4294963200,
		maxQp: maxQps,
		maxQpWr: 16384,
		deviceCapFlags: 0,
		maxSge: 32,
		maxSgeRd: 32,
		maxCq: maxCqs,
		maxCqe: 65535,
		maxMr: maxKeys / 2,
		maxPd: maxPds,
		maxQpRdAtom: own.maxRdAtomic,
		maxQpInitRdAtom: own.maxRdAtomic,
		maxResRdAtom: maxQps * own.maxRdAtomic,
		atomicCap: "glob",
		maxMw: maxKeys / 2,
		maxMcastGrp: maxMcastEntries,
		maxMcastQpAttach: 256,
		maxTotalMcastQpAttach: maxMcastEntries,
		maxAh: 32767,
		maxSrq: maxSrqs,
		maxSrqWr: 16384,
		maxSrqSge: 32,
		maxPkeys: 1,
		maxInlineData: 512,
		localCaAckDelay: own.localCaAckDelay,
		physPortCnt: 1,
		maxCompChannels: maxChannels,
		completionTimestampMask: 0
	};
}
function portAttr(own) {
	return {
		state: PortState.Active,
		maxMtu: 4096,
		maxMsgSz: maxMessageBytes,
		badPkeyCntr: 0,
		qkeyViolCntr: 0,
		pkeyTblLen: 1,
		lmc: 0,
		maxVlNum: 1,
		smSl: 0,
		activeWidth: 2,
		activeSpeed: 32,
		physState: 5,
		...own
	};
}
// src/verbs/provider/windows.ts
/**
* Memory windows as the send queue changes them: BIND_MW, LOCAL_INV, and the window that a peer's SEND_WITH_INV names.
*
*     type 1   opens to every QP of its protection domain; binding it again moves it, an empty length closes it
*     type 2   opens to the QP that bound it; bound again only after LOCAL_INV or the peer's SEND_WITH_INV closed it
*/
/** The window that a peer's SEND_WITH_INV may invalidate: only a bound one of type 2 of this very QP; else −1. */
function invalidable(host, d, rkey) {
	const { i32 } = host;
	const entry = host.findKey(rkey);
	return entry >= 0 && isBoundType2(i32, entry, i32[d + Qp$24.pd]) && i32[entry + Key$7.qp] === host.qpSlot(d) ? entry : -1;
}
function localInvalidate(host, q, w) {
	const { i32 } = host;
	const entry = host.findKey(i32[w + Wqe$14.immData]);
	if (entry < 0 || !isBoundType2(i32, entry, i32[q + Qp$24.pd])) return WcStatus.LocQpOpErr;
	host.noteWindow(entry);
	unbindWindow(host, entry);
	return WcStatus.Success;
}
function isBoundType2(i32, entry, pd) {
	return i32[entry + Key$7.kind] === keyKind$1.window2 && i32[entry + Key$7.valid] === 1 && i32[entry + Key$7.pd] === pd;
}
function bind(host, q, w) {
	const { i32, f64 } = host;
	const window = host.findKey(i32[w + Wqe$14.rkey]);
	if (window < 0 || i32[window + Key$7.pd] !== i32[q + Qp$24.pd]) return WcStatus.MwBindErr;
	const kind = i32[window + Key$7.kind];
	if (kind !== keyKind$1.window1 && kind !== keyKind$1.window2) return WcStatus.MwBindErr;
	const newKey = i32[w + Wqe$14.immData];
	const access = i32[w + Wqe$14.access];
	const length = f64[w + Wqe$14.length >> 1];
	if (newKey >>> 8 !== i32[window + Key$7.key] >>> 8) return WcStatus.MwBindErr;
	if (kind === keyKind$1.window2) {
		if (i32[window + Key$7.valid] === 1 || newKey === i32[window + Key$7.key] || length === 0) return WcStatus.MwBindErr;
	} else {
		if ((access & Access.ZeroBased) !== 0) return WcStatus.MwBindErr;
		if (length === 0) {
			host.noteWindow(window);
			unbindWindow(host, window);
			i32[window + Key$7.key] = newKey;
			return WcStatus.Success;
		}
	}
	const region = host.findKey(i32[w + Wqe$14.mrKey]);
	if (region < 0 || i32[region + Key$7.kind] !== keyKind$1.region || i32[region + Key$7.pd] !== i32[q + Qp$24.pd] || i32[region + Key$7.valid] !== 1) return WcStatus.MwBindErr;
	const rights = i32[region + Key$7.access];
	if ((rights & Access.MwBind) === 0 || (rights & Access.ZeroBased) !== 0) return WcStatus.MwBindErr;
	if ((access & (Access.RemoteWrite | Access.RemoteAtomic)) !== 0 && (rights & Access.LocalWrite) === 0) return WcStatus.MwBindErr;
	const addr = f64[w + Wqe$14.remoteAddr >> 1];
	const offset = addr - f64[region + Key$7.iova >> 1];
	if (!(offset >= 0 && offset + length <= f64[region + Key$7.length >> 1])) return WcStatus.MwBindErr;
	host.noteWindow(window);
	unbindWindow(host, window);
	f64[window + Key$7.addr >> 1] = f64[region + Key$7.addr >> 1] + offset;
	f64[window + Key$7.length >> 1] = length;
	f64[window + Key$7.iova >> 1] = (access & Access.ZeroBased) !== 0 ? 0 : addr;
	i32[window + Key$7.access] = access;
	i32[window + Key$7.qp] = kind === keyKind$1.window2 ? host.qpSlot(q) : -1;
	i32[window + Key$7.region] = (region - host.at.keys) / Key$7.words;
	i32[window + Key$7.regionKey] = i32[region + Key$7.key];
	Atomics.add(i32, region + Key$7.region, 1);
	i32[window + Key$7.key] = newKey;
	Atomics.store(i32, window + Key$7.valid, 1);
	return WcStatus.Success;
}
// src/devices/roce/addresses.ts
/**
* The addresses of this host, and what RoCE makes of each: a GID (IPv4 as ::ffff:a.b.c.d), the largest path MTU that
* its interface carries, and a GUID.
*
* Their order is that of the GID table of a device on all of them: IPv4, global IPv6, link-local IPv6, then loopback
* in the same order; within each, by interface. Soft-RoCE has link-local first. Here index 0, which programs take when
* nobody chooses, is an address that other hosts reach and that needs no interface beside it.
*/
const loopbackMtuBytes = 65536;
const ethernetMtuBytes = 1500;
/**
* Bytes beside the payload in the longest packet that has one: IP 20 or 40, UDP 8, BTH 12, XRCETH 4, RETH 16, ImmDt 4,
* ICRC 4 (an RDMA WRITE only with immediate, in XRC). IP options and extension headers are not used. (Linux reckons
* with 96 for both, since it also counts AtomicETH, whose packets have no payload.)
*/
function overheadBytes(family) {
	return (family === 4 ? 20 : 40) + 8 + 12 + 4 + 16 + 4 + 4;
}
/** The largest MTU of InfiniBand whose packets fit: 1024 for Ethernet's 1500 bytes, 4096 for 4200. Never below 256. */
function roceMtuOf(mtuBytes, family) {
	const room = mtuBytes - overheadBytes(family);
	for (const mtu of [
		4096,
		2048,
		1024,
		512
	]) if (mtu <= room) return mtu;
	return 256;
}
function interfaceFacts(name) {
	try {
		const folder = `/sys/class/net/${name.split(":")[0]}`;
		const [ifindex, mtuBytes] = ["ifindex", "mtu"].map((file) => Number(readFileSync(`${folder}/${file}`, "latin1")));
		return {
			ifindex,
			mtuBytes
		};
	} catch {
		return null;
	}
}
/** Every address of every interface that is up, in the order of the GID table. */
function hostAddresses(interfaces = networkInterfaces(), factsOf = interfaceFacts) {
	const found = [];
	for (const [name, infos] of Object.entries(interfaces)) {
		const facts = factsOf(name);
		for (const info of infos ?? []) {
			const parsed = parseAddress(info.address);
			if (parsed === null) continue;
			const { address } = parsed;
			const mtuBytes = facts?.mtuBytes ?? (info.internal ? loopbackMtuBytes : ethernetMtuBytes);
			const ifindex = facts?.ifindex ?? (info.family === "IPv6" ? info.scopeid : 0);
			const linkLocal = isLinkLocal(address);
			found.push({
				address,
				text: formatIp(address) + (linkLocal ? `%${name}` : ""),
				interface: name,
				ifindex,
				scopeId: linkLocal ? ifindex : 0,
				loopback: info.internal,
				mac: info.mac,
				mtuBytes,
				roceMtu: roceMtuOf(mtuBytes, address.length === 4 ? 4 : 6)
			});
		}
	}
	return found.sort((a, b) => rank(a) - rank(b) || a.ifindex - b.ifindex);
}
function rank({ address, loopback }) {
	return (loopback ? 3 : 0) + (address.length === 4 ? 0 : isLinkLocal(address) ? 2 : 1);
}
/**
* The address of this host that `text` means: `10.0.0.7`, `fd00::2`, `::ffff:10.0.0.7`, `fe80::1%eth0` (name or index
* of the interface; without one, if only one interface has it), and every 127.x.y.z, which loopback has without
* listing them. Undefined if the host has no such address, or `text` is none.
*/
function findAddress(text, addresses = hostAddresses()) {
	const parsed = parseAddress(text);
	if (parsed === null) return void 0;
	const { address, zone } = parsed;
	const matches = addresses.filter((candidate) => Buffer.compare(candidate.address, address) === 0 && (zone === "" || zone === candidate.interface || zone === String(candidate.ifindex)));
	if (matches.length > 0) return matches.length === 1 || !isLinkLocal(address) ? matches[0] : void 0;
	if (address.length !== 4 || address[0] !== 127) return void 0;
	const loopback = addresses.find((candidate) => candidate.loopback && candidate.address.length === 4);
	return loopback && {
		...loopback,
		address,
		text: formatIp(address)
	};
}
/**
* The GUID that an address gives an adapter: the EUI-64 of the MAC address. Where there is no MAC address, as on
* loopback, a locally administered one is made of the last four bytes of the address (02:00 and IPv4, 02:01 and IPv6),
* so that 127.0.0.1 and 127.0.0.2 differ.
*/
function guidOf({ address, mac }) {
	let bytes = mac.split(":").map((part) => Number.parseInt(part, 16));
	if (!(bytes.length === 6 && bytes.every((byte) => byte >= 0 && byte <= 255) && bytes.some((byte) => byte > 0))) bytes = [
		2,
		address.length === 4 ? 0 : 1,
		...address.subarray(-4)
	];
	const [a, b, c, d, e, f] = bytes;
	return [
		a ^ 2,
		b,
		c,
		255,
		254,
		d,
		e,
		f
	].reduce((guid, byte) => guid << 8n | BigInt(byte), 0n);
}
/** Flags of an address in /proc/net/if_inet6: IFA_F_DADFAILED, IFA_F_TENTATIVE. */
const duplicateFlag = 8;
const tentativeFlag = 64;
function ipv6Table() {
	try {
		return readFileSync("/proc/net/if_inet6", "latin1");
	} catch {
		return "";
	}
}
/**
* How far the kernel is with an address: `tentative` while it asks the network whether somebody has it already, which
* takes a second or two after it was given, and during which nothing can be bound to it; `duplicate` if somebody has.
* `table` has a line for each address: the address, index of the interface, length of the prefix, scope, flags, name.
*/
function stateOfAddress({ address, ifindex }, table = ipv6Table()) {
	if (address.length === 4) return "usable";
	const text = Buffer.from(address).toString("hex");
	for (const line of table.split("\n")) {
		const [known, index = "", , , flags = ""] = line.trim().split(/\s+/);
		if (known !== text || ifindex !== 0 && Number.parseInt(index, 16) !== ifindex) continue;
		const bits = Number.parseInt(flags, 16);
		if ((bits & duplicateFlag) !== 0) return "duplicate";
		if ((bits & tentativeFlag) !== 0) return "tentative";
	}
	return "usable";
}
/** True for fe80::/10, which needs an interface beside it. */
function isLinkLocal(address) {
	return address.length === 16 && address[0] === 254 && (address[1] & 192) === 128;
}
/** IPv4, or IPv6 with or without a zone (`%eth0`); null if it is neither. IPv4 in IPv6 (::ffff:a.b.c.d) gives 4 bytes. */
function parseAddress(text) {
	const percent = text.indexOf("%");
	const address = parseIp(percent < 0 ? text : text.slice(0, percent));
	const zone = percent < 0 ? "" : text.slice(percent + 1);
	if (address === void 0 || percent >= 0 && (zone === "" || address.length === 4)) return null;
	return {
		address: ipOfGid(gidOfIp(address)),
		zone
	};
}
// src/transport/layout.ts
/**
* What the transport keeps for each QP (at `Qp.wire`, 32-bit words) and for each device, in the segment, so that whichever
* thread drives the device finds it. `f64` marks pairs of words that hold a double.
*
* Everywhere in this folder `q` is the first word of a QP's record, `t` that of the transport's part of it (`TransportQp`),
* and `at` the byte at which a packet's BTH begins.
*
*     requester   txIndex, txPsn ── next to send │ newPsn ── next never sent │ una ── oldest not acknowledged
*     responder   epsn ── expected next │ the message that is arriving │ a receive taken from an SRQ
*     resources   READs and atomics of the peer, in the order they came, kept for responses and for duplicates
*/
const { Sg: Sg$5, Wqe: Wqe$13 } = layout_exports;
/** Words of one entry of the resource ring. */
const Resource = {
	words: 16,
	first: 0,
	last: 1,
	operation: 2,
	rkey: 3,
	va: 4,
	length: 6,
	/** What of it is still to be sent: next and last PSN, address and bytes. */
	next: 8,
	end: 9,
	jobVa: 10,
	jobLeft: 12,
	begun: 14,
	/** 1 once it has been answered to its end: what is still to be sent is for a duplicate. */
	answered: 15
};
/** What a resource is. Zero: nothing was ever there. */
const resourceKind = {
	none: 0,
	read: 1,
	atomic: 2,
	plain: 3
};
/** Which halves of a QP have begun: the first packet or request gives each its first PSN. */
const begun = {
	responder: 1,
	requester: 2
};
const TransportQp = {
	/** Bits of `begun`. */
	ready: 0,
	txIndex: 1,
	txPsn: 2,
	newPsn: 3,
	una: 4,
	/** READ and atomic requests that are outstanding. */
	readsOut: 5,
	lastAckReq: 6,
	retriesLeft: 7,
	rnrLeft: 8,
	/** The response or ACK that showed the missing response for which it last went back, else the end of what was sent. */
	gapPsn: 9,
	/** When it last went back, ns. */
	restartNs: 10,
	/** How often it has gone back since a packet was acknowledged: a NAK for what is being sent again starts nothing new. */
	resending: 12,
	/** The first request that was never begun. */
	freshIndex: 13,
	/** The status with which the request at `txIndex` fails when its turn comes, 0 if it does not. */
	localError: 14,
	/** Responder: the newest SEND or WRITE, which an ACK names. */
	plainPsn: 15,
	epsn: 16,
	msn: 17,
	/** 1 after a NAK or RNR NAK, sent or due: what comes ahead of the expected PSN is passed over in silence. */
	nakSent: 18,
	rxKind: 19,
	rxBytes: 20,
	va: 22,
	remaining: 24,
	rkey: 26,
	/** Word of the receive that the arriving message fills, 0 if none. */
	receive: 27,
	ackDue: 28,
	/** Resources so far; the next one's place is this modulo `maxResources`. */
	resTail: 29,
	/** The first resource that is still to be answered. */
	resNext: 30,
	/** 1 while the rest of a message of UC is dropped. */
	dropRest: 31,
	/** Syndrome and PSN of a NAK that waits for the responses before it; the syndrome is 0 if there is none. */
	nakDue: 32,
	nakPsn: 33,
	/** Responder: the packet that showed the gap for which a NAK was sent. */
	nakAhead: 34,
	/** Requester: packets that may be outstanding since some were lost; 0: as many as the options say. See recovery.ts. */
	window: 35,
	/** The oldest packet when it last went back: what was acknowledged since is how far it gets without a loss. */
	runFrom: 36,
	/** How often it went back before the ACK timeout since a round trip was measured. */
	early: 37,
	/** Mean and deviation of the round trip, ns; 0 before the first measurement. */
	roundTrip: 38,
	deviation: 40,
	/** The packet whose round trip is being measured. */
	timedPsn: 42,
	/** 1 while it waits once more, since the thread that drives the device noticed late that it had waited long enough. */
	heldUp: 43,
	/** 1 if the two ends have agreed on end-to-end credits: see credits.ts. Set by a connection manager, 0 else. */
	flowControl: 44,
	/** The number of the last request that was begun, and of the last that has credit. */
	ssn: 45,
	limit: 46,
	/** 1 while the peer says nothing of credits. */
	unlimited: 47,
	srqCopy: 48,
	/** When that packet was sent, ns; 0 if none is measured. */
	timedNs: 180,
	/** When each timer expires, ns; 0: it does not run. See timers.ts. */
	ackExpiresNs: 182,
	earlyExpiresNs: 184,
	rnrExpiresNs: 186,
	paceExpiresNs: 188,
	/** Responder: the key of the window that the SEND which is being completed has invalidated, 0 if none. */
	invalidated: 211,
	/** Congestion control: see congestion.ts. */
	congestion: 190,
	resources: 256,
	words: 1280
};
/** What the requester adds to a request in the send queue of a connected QP, where UD has its address vector. */
const SendProgress = {
	/** 1 for a request that needed no packet and is done: it completes when its turn comes. */
	settled: 20,
	firstPsn: 21,
	lastPsn: 22,
	ssn: 23,
	length: 24
};
/** What the transport keeps for each device. */
const TransportDevice = {
	lock: 0,
	/** 1 after the lock was taken over from a dead thread, until what that left unfinished is in order. */
	orphaned: 1,
	txHead: 16,
	txTail: 17,
	ackHead: 18,
	ackTail: 19,
	timers: 20,
	/** No timer expires before this, ns. */
	nextDeadline: 22,
	/** The doorbell: QPs that other threads want served, written by threads that post. */
	doorbellLock: 32,
	doorbellTail: 33,
	doorbellHead: 48,
	txRing: 64,
	ackRing: 65600,
	timerList: 131136,
	doorbellRing: 196672,
	/** One byte for each QP: bits of `listed`. */
	flags: 262208,
	/** A `Journal`, and behind it a `PacketJournal`. */
	journal: 278592,
	packet: 278608,
	words: 278656,
	slots: 65536
};
/** What a QP was before the packet of the peer that is being executed: see takeover.ts. */
const PacketJournal = {
	epsn: 0,
	msn: 1,
	rxKind: 2,
	receive: 3,
	rkey: 4,
	plainPsn: 5,
	resTail: 6,
	/** Where the SRQ stands once a receive was taken from it, and 1 if one may have been. */
	srqTail: 7,
	takes: 8,
	/** The region (slot + 1) of a window that the packet invalidates, 0 if it invalidates none. */
	region: 9,
	rxBytes: 10,
	va: 12,
	remaining: 14,
	/** Of an atomic: its 64-bit word in memory, and what it puts there. */
	target: 16,
	value: 18,
	words: 32
};
/** In which lists of the device a QP is. */
const listed = {
	tx: 1,
	ack: 2,
	timer: 4
};
if (TransportQp.srqCopy + 4 + 32 * Sg$5.words > TransportQp.timedNs || TransportQp.congestion + 18 > TransportQp.invalidated || TransportQp.resources + 64 * Resource.words !== TransportQp.words || SendProgress.settled !== Wqe$13.av || TransportDevice.slots !== 65536 || TransportDevice.flags !== TransportDevice.txRing + 4 * TransportDevice.slots || TransportDevice.journal !== TransportDevice.flags + TransportDevice.slots / 4 || TransportDevice.packet !== TransportDevice.journal + Journal.words || TransportDevice.words < TransportDevice.packet + PacketJournal.words) throw new Error("the layouts of transport and verbs do not fit together");
// src/transport/congestion.ts
/** Words from `TransportQp.congestion` on, `congestionWords` of them; all but the last two f64. */
const At = {
	/** When the last CNP was sent, ns. */
	cnpNs: 0,
	/** Bits a second; 0: no limit. */
	rate: 2,
	target: 4,
	alpha: 6,
	/** When α and the rate were last looked at, and bytes since then. */
	alphaNs: 8,
	increaseNs: 10,
	bytes: 12,
	/** When the next packet may go. */
	nextNs: 14,
	timeStage: 16,
	byteStage: 17
};
const Dcqcn = {
	cnpIntervalNs: 5e4,
	/** Weight of one CNP in α. */
	g: .00390625,
	periodNs: 55e3,
	periodBytes: 1e7,
	fastStages: 5,
	additiveBps: 4e7,
	hyperBps: 4e8,
	minBps: 1e7
};
var Congestion = class {
	#i32;
	#f64;
	#lineBps;
	constructor(host, lineBps) {
		this.#i32 = host.i32;
		this.#f64 = host.f64;
		this.#lineBps = lineBps;
	}
	#at(t, field) {
		return t + TransportQp.congestion + field >> 1;
	}
	/** A packet came marked: whether a CNP is due. */
	cnpDue(t, nowNs) {
		const f64 = this.#f64;
		const cnp = this.#at(t, At.cnpNs);
		if (f64[cnp] !== 0 && nowNs - f64[cnp] < Dcqcn.cnpIntervalNs) return false;
		f64[cnp] = nowNs;
		return true;
	}
	/** A CNP came: the sender slows down. */
	slowDown(t, nowNs) {
		const f64 = this.#f64;
		const rate = this.#at(t, At.rate);
		const alpha = this.#at(t, At.alpha);
		if (f64[rate] === 0) {
			f64[rate] = this.#lineBps;
			f64[alpha] = 1;
			f64[this.#at(t, At.nextNs)] = nowNs;
		} else this.#catchUp(t, nowNs);
		const before = f64[rate] || this.#lineBps;
		f64[this.#at(t, At.target)] = before;
		f64[rate] = Math.max(Dcqcn.minBps, before * (1 - f64[alpha] / 2));
		f64[alpha] = (1 - Dcqcn.g) * f64[alpha] + Dcqcn.g;
		f64[this.#at(t, At.alphaNs)] = nowNs;
		f64[this.#at(t, At.increaseNs)] = nowNs;
		f64[this.#at(t, At.bytes)] = 0;
		this.#i32[t + TransportQp.congestion + At.timeStage] = 0;
		this.#i32[t + TransportQp.congestion + At.byteStage] = 0;
	}
	/** The rate now, bits a second; Infinity without a limit. */
	rateBps(t, nowNs) {
		const rate = this.#at(t, At.rate);
		if (this.#f64[rate] === 0) return Number.POSITIVE_INFINITY;
		this.#catchUp(t, nowNs);
		return this.#f64[rate] || Number.POSITIVE_INFINITY;
	}
	/** When the QP may send its next packet: `nowNs` or later. */
	nextNs(t, nowNs) {
		if (this.rateBps(t, nowNs) === Number.POSITIVE_INFINITY) return nowNs;
		return Math.max(nowNs, this.#f64[this.#at(t, At.nextNs)]);
	}
	/** A packet went. */
	sent(t, bytes, nowNs) {
		const f64 = this.#f64;
		const rate = f64[this.#at(t, At.rate)];
		if (rate === 0) return;
		const next = this.#at(t, At.nextNs);
		f64[next] = Math.max(f64[next], nowNs) + bytes * 8e9 / rate;
		const count = this.#at(t, At.bytes);
		f64[count] = f64[count] + bytes;
		if (f64[count] < Dcqcn.periodBytes) return;
		f64[count] = f64[count] - Dcqcn.periodBytes;
		this.#increase(t, At.byteStage);
	}
	/** What time alone has changed since the last look. */
	#catchUp(t, nowNs) {
		const f64 = this.#f64;
		const alphaNs = this.#at(t, At.alphaNs);
		const periods = Math.floor((nowNs - f64[alphaNs]) / Dcqcn.periodNs);
		if (periods > 0) {
			f64[this.#at(t, At.alpha)] *= (1 - Dcqcn.g) ** periods;
			f64[alphaNs] = f64[alphaNs] + periods * Dcqcn.periodNs;
		}
		const increaseNs = this.#at(t, At.increaseNs);
		const rate = this.#at(t, At.rate);
		while (f64[rate] !== 0 && nowNs - f64[increaseNs] >= Dcqcn.periodNs) {
			f64[increaseNs] = f64[increaseNs] + Dcqcn.periodNs;
			this.#increase(t, At.timeStage);
		}
	}
	#increase(t, stage) {
		const f64 = this.#f64;
		const i32 = this.#i32;
		const at = t + TransportQp.congestion;
		i32[at + stage] = i32[at + stage] + 1;
		const most = Math.max(i32[at + At.timeStage], i32[at + At.byteStage]);
		const least = Math.min(i32[at + At.timeStage], i32[at + At.byteStage]);
		const target = this.#at(t, At.target);
		const rate = this.#at(t, At.rate);
		if (least > Dcqcn.fastStages) f64[target] = f64[target] + Dcqcn.hyperBps;
		else if (most > Dcqcn.fastStages) f64[target] = f64[target] + Dcqcn.additiveBps;
		f64[target] = Math.min(f64[target], this.#lineBps);
		f64[rate] = (f64[rate] + f64[target]) / 2;
		if (f64[rate] > .999 * this.#lineBps) f64[rate] = 0;
	}
};
// src/transport/counters.ts
/** Counters of a device, as positions in `f64`, so that counting costs an addition. */
const { counterNames, Dev: Dev$15 } = layout_exports;
function countersOf(host, device) {
	const base = (host.deviceWord(device) + Dev$15.counters) / 2;
	return Object.fromEntries(counterNames.map((name, i) => [name, base + i]));
}
// src/transport/buffers.ts
/**
* Registered memory as the transport reads and writes it, a packet at a time: keys looked up through a small memory that
* is void when the epoch of the segment changes, lists of scatter/gather elements entered at any offset.
*/
const { Key: Key$6, keyKind, Rwqe: Rwqe$3, Sg: Sg$4, Wqe: Wqe$12 } = layout_exports;
const known = 64;
var Buffers = class {
	#host;
	#i32;
	#f64;
	#copy;
	#epochWord;
	#keys = new Int32Array(known);
	#epochs = new Int32Array(known);
	#pds = new Int32Array(known);
	#rights = new Int32Array(known);
	#lows = new Float64Array(known);
	#highs = new Float64Array(known);
	#deltas = new Float64Array(known);
	constructor(host) {
		this.#host = host;
		this.#i32 = host.i32;
		this.#f64 = host.f64;
		this.#copy = host.segment.copy;
		this.#epochWord = host.segment.epochWord;
	}
	/** As `Host.resolve`: the segment address of a range, or −1 if key, domain, rights or bounds forbid it. */
	resolve(key, pd, addr, length, access, qp) {
		const slot = key >>> 8 & 63;
		const epoch = this.#i32[this.#epochWord];
		if (this.#keys[slot] === key && this.#epochs[slot] === epoch && this.#pds[slot] === pd && (this.#rights[slot] & access) === access && addr >= this.#lows[slot] && addr + length <= this.#highs[slot]) return addr + this.#deltas[slot];
		const at = this.#host.resolve(key, pd, addr, length, access, qp);
		if (at < 0) return -1;
		const entry = this.#host.findKey(key);
		if (entry < 0 || this.#i32[entry + Key$6.kind] !== keyKind.region) return at;
		const low = this.#f64[entry + Key$6.iova >> 1];
		this.#keys[slot] = key;
		this.#epochs[slot] = epoch;
		this.#pds[slot] = pd;
		this.#rights[slot] = this.#i32[entry + Key$6.access];
		this.#lows[slot] = low;
		this.#highs[slot] = low + this.#f64[entry + Key$6.length >> 1];
		this.#deltas[slot] = at - addr;
		return at;
	}
	/** Bytes of a request's list; −1 if an element may not be used so. Nothing is copied. */
	gather(pd, wqe, access) {
		const i32 = this.#i32;
		if ((i32[wqe + Wqe$12.flags] & SendFlag.Inline) !== 0) return i32[wqe + Wqe$12.inlineLength];
		const sges = i32[wqe + Wqe$12.sges];
		let total = 0;
		for (let i = 0, sge = wqe + Wqe$12.data; i < sges; i++, sge += Sg$4.words) {
			const length = i32[sge + Sg$4.length];
			if (length === 0) continue;
			if (length < 0 || this.resolve(i32[sge + Sg$4.lkey], pd, this.#f64[sge >> 1], length, access, -1) < 0) return -1;
			total += length;
		}
		return total;
	}
	/** Copies bytes [offset, offset + length) of a request's data to `to`; false if they may not be read any more. */
	read(pd, wqe, offset, length, to) {
		if (length === 0) return true;
		const i32 = this.#i32;
		if ((i32[wqe + Wqe$12.flags] & SendFlag.Inline) !== 0) {
			this.#copy(to, (wqe + Wqe$12.data) * 4 + offset, length);
			return true;
		}
		return this.#walk(wqe + Wqe$12.data, i32[wqe + Wqe$12.sges], pd, offset, length, to, 0) === WcStatus.Success;
	}
	/** Copies `length` bytes at `from` into the request's own buffers, which a READ or atomic fills. */
	bringBack(pd, wqe, offset, length, from) {
		if (length === 0) return true;
		const sges = this.#i32[wqe + Wqe$12.sges];
		return this.#walk(wqe + Wqe$12.data, sges, pd, offset, length, from, Access.LocalWrite) === WcStatus.Success;
	}
	/** Fills a receive from `offset` on; LOC_LEN_ERR if it is too short, LOC_PROT_ERR if its memory may not be written. */
	scatter(pd, receive, offset, length, from) {
		if (length === 0) return WcStatus.Success;
		const sges = Math.min(this.#i32[receive + Rwqe$3.sges], 32);
		const status = this.#walk(receive + Rwqe$3.data, sges, pd, offset, length, from, Access.LocalWrite);
		return status === WcStatus.LocProtErr && offset + length > this.roomOf(receive) ? WcStatus.LocLenErr : status;
	}
	/** With LocalWrite copies `other` into the list, without it the list to `other`. */
	#walk(first, count, pd, offset, length, other, access) {
		const i32 = this.#i32;
		let sge = first;
		for (let i = 0; i < count; i++, sge += Sg$4.words) {
			const size = i32[sge + Sg$4.length];
			if (size < 0) return WcStatus.LocProtErr;
			if (offset >= size) {
				offset -= size;
				continue;
			}
			const piece = Math.min(size - offset, length);
			const at = this.resolve(i32[sge + Sg$4.lkey], pd, this.#f64[sge >> 1] + offset, piece, access, -1);
			if (at < 0) return WcStatus.LocProtErr;
			if (access !== 0) this.#copy(at, other, piece);
			else this.#copy(other, at, piece);
			length -= piece;
			if (length === 0) return WcStatus.Success;
			other += piece;
			offset = 0;
		}
		return WcStatus.LocLenErr;
	}
	/** Bytes that a receive holds. */
	roomOf(receive) {
		const i32 = this.#i32;
		const sges = Math.min(i32[receive + Rwqe$3.sges], 32);
		let room = 0;
		for (let i = 0, sge = receive + Rwqe$3.data; i < sges; i++, sge += Sg$4.words) room += Math.max(0, i32[sge + Sg$4.length]);
		return room;
	}
};
// src/transport/timers.ts
/**
* The timers of connected QPs. Each is the time at which it expires, in the segment; 0: it does not run, as in a QP that was reset.
*
*     timer        runs while                               when it expires
*     ackTimeout   packets of RC are outstanding            they are sent again, which costs a retry
*     early        as ackTimeout, which it begins with      they are sent again, which costs none (recovery.ts)
*     rnr          the peer has no receive, instead of      sending goes on
*                  the two above
*     pace         congestion control lets no packet go,    sending goes on
*                  besides any of those above
*
* An ACK that waits for a packet to go with has no timer: it waits for looks at the device (ack-policy.ts).
*
* The device has a list of the QPs of which a timer may run, and a time before which none expires. Cancelling a timer leaves both as
* they are; they are made exact when that time has come.
*/
const { Qp: Qp$23 } = layout_exports;
var Timers = class {
	#host;
	#i32;
	#f64;
	#u8;
	#device;
	#record;
	#next;
	constructor(host, device, record) {
		this.#host = host;
		this.#i32 = host.i32;
		this.#f64 = host.f64;
		this.#u8 = host.u8;
		this.#device = device;
		this.#record = record;
		this.#next = record + TransportDevice.nextDeadline >> 1;
	}
	/** No timer expires before this. */
	get nextDeadlineNs() {
		return this.#f64[this.#next];
	}
	armAckTimeout(q, t, expiresNs, earlyNs) {
		this.#f64[t + TransportQp.ackExpiresNs >> 1] = expiresNs;
		this.#f64[t + TransportQp.earlyExpiresNs >> 1] = earlyNs;
		this.#enlist(q, Math.min(expiresNs, earlyNs));
	}
	armEarly(q, t, expiresNs) {
		this.#f64[t + TransportQp.earlyExpiresNs >> 1] = expiresNs;
		this.#enlist(q, expiresNs);
	}
	cancelAckTimeout(t) {
		this.#f64[t + TransportQp.ackExpiresNs >> 1] = 0;
		this.#f64[t + TransportQp.earlyExpiresNs >> 1] = 0;
	}
	ackTimeoutRuns(t) {
		return this.#f64[t + TransportQp.ackExpiresNs >> 1] !== 0;
	}
	armRnr(q, t, expiresNs) {
		this.cancelAckTimeout(t);
		this.#f64[t + TransportQp.rnrExpiresNs >> 1] = expiresNs;
		this.#enlist(q, expiresNs);
	}
	cancelRnr(t) {
		this.#f64[t + TransportQp.rnrExpiresNs >> 1] = 0;
	}
	/** Whether nothing is sent, since the peer has no receive. */
	rnrRuns(t) {
		return this.#f64[t + TransportQp.rnrExpiresNs >> 1] !== 0;
	}
	armPace(q, t, expiresNs) {
		this.#f64[t + TransportQp.paceExpiresNs >> 1] = expiresNs;
		this.#enlist(q, expiresNs);
	}
	cancelPace(t) {
		this.#f64[t + TransportQp.paceExpiresNs >> 1] = 0;
	}
	cancelAll(t) {
		this.cancelAckTimeout(t);
		this.cancelRnr(t);
		this.cancelPace(t);
	}
	#enlist(q, expiresNs) {
		const i32 = this.#i32;
		const u8 = this.#u8;
		const record = this.#record;
		const slot = this.#host.qpSlot(q);
		const flags = (record + TransportDevice.flags) * 4 + slot;
		if ((u8[flags] & listed.timer) === 0) {
			u8[flags] = u8[flags] | listed.timer;
			const count = i32[record + TransportDevice.timers];
			i32[record + TransportDevice.timerList + count] = slot;
			i32[record + TransportDevice.timers] = count + 1;
		}
		if (expiresNs < this.#f64[this.#next]) this.#f64[this.#next] = expiresNs;
	}
	/** Takes the QP at `index` off the list; the last one takes its place. */
	#delist(index) {
		const i32 = this.#i32;
		const record = this.#record;
		const list = record + TransportDevice.timerList;
		const flags = (record + TransportDevice.flags) * 4 + i32[list + index];
		const last = i32[record + TransportDevice.timers] - 1;
		i32[list + index] = i32[list + last];
		i32[record + TransportDevice.timers] = last;
		this.#u8[flags] = this.#u8[flags] & ~listed.timer;
	}
	/** The QP at `index` of the list, or −1 if it is gone. */
	#at(index) {
		const i32 = this.#i32;
		const q = this.#host.qpWord(i32[this.#record + TransportDevice.timerList + index]);
		return i32[q + Qp$23.number] === 0 || i32[q + Qp$23.device] !== this.#device ? -1 : q;
	}
	/** When the first of the QP's timers expires; Infinity if none runs. */
	#earliest(t) {
		const f64 = this.#f64;
		let earliest = Number.POSITIVE_INFINITY;
		for (let at = t + TransportQp.ackExpiresNs >> 1; at <= t + TransportQp.paceExpiresNs >> 1; at++) if (f64[at] !== 0 && f64[at] < earliest) earliest = f64[at];
		return earliest;
	}
	/** Expires the timers whose time has come. */
	advance(nowNs, expiry) {
		const i32 = this.#i32;
		const f64 = this.#f64;
		if (nowNs < f64[this.#next]) return;
		f64[this.#next] = Number.POSITIVE_INFINITY;
		let next = Number.POSITIVE_INFINITY;
		for (let i = 0; i < i32[this.#record + TransportDevice.timers];) {
			const q = this.#at(i);
			const t = q < 0 ? 0 : i32[q + Qp$23.wire];
			let earliest = q < 0 ? Number.POSITIVE_INFINITY : this.#earliest(t);
			if (earliest <= nowNs) {
				this.#expire(q, t, nowNs, expiry);
				earliest = this.#earliest(t);
			}
			if (earliest === Number.POSITIVE_INFINITY) {
				this.#delist(i);
				continue;
			}
			if (earliest < next) next = earliest;
			i++;
		}
		if (next < f64[this.#next]) f64[this.#next] = next;
	}
	/** This thread stood still for `ns`, in which no peer could be heard: all that wait for one wait longer. */
	postpone(ns) {
		const f64 = this.#f64;
		let next = Number.POSITIVE_INFINITY;
		for (let i = 0; i < this.#i32[this.#record + TransportDevice.timers]; i++) {
			const q = this.#at(i);
			if (q < 0) continue;
			const t = this.#i32[q + Qp$23.wire];
			for (const timer of [
				TransportQp.ackExpiresNs,
				TransportQp.earlyExpiresNs,
				TransportQp.rnrExpiresNs
			]) {
				const at = t + timer >> 1;
				if (f64[at] !== 0) f64[at] = f64[at] + ns;
			}
			next = Math.min(next, this.#earliest(t));
		}
		f64[this.#next] = next;
	}
	#expire(q, t, nowNs, expiry) {
		const f64 = this.#f64;
		const state = this.#i32[q + Qp$23.state];
		if (state !== QpState.Rts && state !== QpState.Sqd) {
			this.cancelAll(t);
			return;
		}
		if (this.#isDue(t + TransportQp.paceExpiresNs, nowNs)) {
			this.cancelPace(t);
			expiry.paceExpired(q);
		}
		if (this.#isDue(t + TransportQp.rnrExpiresNs, nowNs)) {
			this.cancelRnr(t);
			expiry.rnrExpired(q);
		}
		if (this.#isDue(t + TransportQp.ackExpiresNs, nowNs)) {
			this.cancelAckTimeout(t);
			expiry.ackTimeoutExpired(q, t, nowNs);
		} else if (this.#isDue(t + TransportQp.earlyExpiresNs, nowNs)) {
			const early = t + TransportQp.earlyExpiresNs >> 1;
			const lateNs = nowNs - f64[early];
			f64[early] = 0;
			expiry.earlyExpired(q, t, nowNs, lateNs);
		}
	}
	#isDue(timer, nowNs) {
		const expiresNs = this.#f64[timer >> 1];
		return expiresNs !== 0 && expiresNs <= nowNs;
	}
};
// src/transport/state.ts
/**
* What all parts of the transport of one device share in one thread: views of the segment, the device's record with its
* lists of QPs, and how a request or a QP fails.
*
* A thread that runs the transport holds the device's lock (`TransportDevice.lock`) and is in an operation of the segment. So after a
* change of a QP's state and a grace period the transport no longer touches that QP.
*/
const { Key: Key$5, Qp: Qp$22, Rwqe: Rwqe$2, Srq: Srq$3 } = layout_exports;
const defaultOptions = {
	windowBytes: 262144,
	readChunkBytes: 131072,
	minTimeoutNs: 1e7,
	congestionControl: false,
	lineRateBps: 1e11
};
var TransportState = class {
	host;
	device;
	i32;
	f64;
	u8;
	b64;
	buffers;
	counters;
	timers;
	options;
	/** Null when there is no congestion control. */
	congestion;
	/** First word of the transport's record of the device. */
	record;
	constructor(host, device, record, options = {}) {
		this.host = host;
		this.device = device;
		this.record = record;
		this.i32 = host.i32;
		this.f64 = host.f64;
		this.u8 = host.u8;
		this.b64 = host.segment.b64;
		this.buffers = new Buffers(host);
		this.counters = countersOf(host, device);
		this.timers = new Timers(host, device, record);
		this.options = {
			...defaultOptions,
			...options
		};
		this.congestion = null;
		this.controlCongestion(this.options.congestionControl);
	}
	controlCongestion(on) {
		if (on !== (this.congestion !== null)) this.congestion = on ? new Congestion(this.host, this.options.lineRateBps) : null;
	}
	count(counter) {
		this.f64[counter] = this.f64[counter] + 1;
	}
	/** First word of the transport's part of a QP. */
	of(q) {
		return this.i32[q + Qp$22.wire];
	}
	/** The QP has something to send: its turn comes in `transmit`. */
	schedule(q) {
		this.#list(q, listed.tx, TransportDevice.txTail, TransportDevice.txRing);
	}
	/** The QP owes its peer an ACK. */
	scheduleAck(q) {
		this.#list(q, listed.ack, TransportDevice.ackTail, TransportDevice.ackRing);
	}
	#list(q, bit, tailWord, ring) {
		const { i32, u8, record } = this;
		const slot = this.host.qpSlot(q);
		const flags = (record + TransportDevice.flags) * 4 + slot;
		if ((u8[flags] & bit) !== 0) return;
		u8[flags] = u8[flags] | bit;
		const tail = i32[record + tailWord];
		i32[record + ring + (tail & TransportDevice.slots - 1)] = slot;
		i32[record + tailWord] = tail + 1 | 0;
	}
	/** Takes the next QP of a list: its first word, or −1 when the list is empty; QPs that are gone are passed over. */
	next(bit, headWord, tailWord, ring) {
		const { i32, u8, record } = this;
		for (;;) {
			const head = i32[record + headWord];
			if (head === i32[record + tailWord]) return -1;
			const slot = i32[record + ring + (head & TransportDevice.slots - 1)];
			i32[record + headWord] = head + 1 | 0;
			const flags = (record + TransportDevice.flags) * 4 + slot;
			u8[flags] = u8[flags] & ~bit;
			const q = this.host.qpWord(slot);
			if (i32[q + Qp$22.number] !== 0 && i32[q + Qp$22.device] === this.device) return q;
		}
	}
	/**
	* The receive that a message of `bytes` takes: its word, `noReceive`, or `receiveTooShort`, and then it stays for the
	* next message. That of an SRQ is copied out and used by this. With 0 bytes any receive will do.
	*/
	takeReceive(q, bytes) {
		const { i32, host } = this;
		const srqSlot = i32[q + Qp$22.srq];
		if (srqSlot < 0) {
			const tail = i32[q + Qp$22.rqTail];
			if (tail === Atomics.load(i32, q + Qp$22.rqHead)) return -1;
			const receive = i32[q + Qp$22.rqRing] + (tail & i32[q + Qp$22.rqMask]) * i32[q + Qp$22.rqStride];
			return host.receiveIsShort(receive, bytes) ? -2 : receive;
		}
		const to = this.of(q) + TransportQp.srqCopy;
		const packet = this.record + TransportDevice.packet;
		i32[packet + PacketJournal.srqTail] = i32[host.srqWord(srqSlot) + Srq$3.tail] + 1 | 0;
		i32[packet + PacketJournal.takes] = 1;
		return host.takeFromSrq(srqSlot, i32, to, bytes);
	}
	/** The protection domain that a receive belongs to. */
	receivePd(q) {
		const srq = this.i32[q + Qp$22.srq];
		return srq < 0 ? this.i32[q + Qp$22.pd] : this.i32[this.host.srqWord(srq) + Srq$3.pd];
	}
	/** Completes a receive; false if the CQ overran. */
	completeReceive(q, receive, status, opcode, flags, bytes, immData, srcQp, solicited) {
		const { i32, f64, host } = this;
		const wrId = f64[receive + Rwqe$2.wrId >> 1];
		const tail = i32[q + Qp$22.rqTail] + 1 | 0;
		return host.completeReceive(q, tail, wrId, status, opcode, flags, bytes, immData, srcQp, solicited);
	}
	/** A packet of the peer is about to be executed: keeps what the QP was, for `Takeover` to set it back to. */
	beginPacket(q, t) {
		const { i32, f64, record } = this;
		const packet = record + TransportDevice.packet;
		i32[record + TransportDevice.journal + Journal.qp] = i32[q + Qp$22.ref];
		i32[packet + PacketJournal.epsn] = i32[t + TransportQp.epsn];
		i32[packet + PacketJournal.msn] = i32[t + TransportQp.msn];
		i32[packet + PacketJournal.rxKind] = i32[t + TransportQp.rxKind];
		i32[packet + PacketJournal.receive] = i32[t + TransportQp.receive];
		i32[packet + PacketJournal.rkey] = i32[t + TransportQp.rkey];
		i32[packet + PacketJournal.plainPsn] = i32[t + TransportQp.plainPsn];
		i32[packet + PacketJournal.resTail] = i32[t + TransportQp.resTail];
		i32[packet + PacketJournal.takes] = 0;
		i32[packet + PacketJournal.region] = 0;
		f64[packet + PacketJournal.rxBytes >> 1] = f64[t + TransportQp.rxBytes >> 1];
		f64[packet + PacketJournal.va >> 1] = f64[t + TransportQp.va >> 1];
		f64[packet + PacketJournal.remaining >> 1] = f64[t + TransportQp.remaining >> 1];
		i32[record + TransportDevice.journal + Journal.stage] = journalStage.packet;
	}
	/** A request that binds or invalidates a window is about to be executed: `Host.noteWindow` says which. */
	beginWindow(q, index) {
		const journal = this.record + TransportDevice.journal;
		this.i32[journal + Journal.qp] = this.i32[q + Qp$22.ref];
		this.i32[journal + Journal.queue] = index;
	}
	/** The packet that has begun is about to invalidate the window `entry`. */
	beginInvalidate(entry) {
		this.i32[this.record + TransportDevice.packet + PacketJournal.region] = this.i32[entry + Key$5.region] + 1;
	}
	/** An atomic of the packet that has begun is about to put `value` into the 64-bit word `target`. */
	beginAtomic(target, value) {
		const { record } = this;
		this.f64[record + TransportDevice.packet + PacketJournal.target >> 1] = target;
		this.b64[record + TransportDevice.packet + PacketJournal.value >> 1] = value;
		this.i32[record + TransportDevice.journal + Journal.stage] = journalStage.atomic;
	}
	/** What was begun is done. */
	end() {
		this.i32[this.record + TransportDevice.journal + Journal.stage] = journalStage.none;
	}
	/** The request at the front of the send queue failed: it completes with the error, and all after it is flushed. */
	failRequest(q, status) {
		const { i32, host } = this;
		const rc = i32[q + Qp$22.type] === QpType.RC;
		if (host.breakQp(q, rc ? QpState.Err : QpState.Sqe) && i32[q + Qp$22.sqNext] !== i32[q + Qp$22.sqHead]) host.completeSend(q, status, 0);
		this.timers.cancelAll(this.of(q));
		this.flush(q);
	}
	/** The responder ends: its QP goes to ERR with an asynchronous event. */
	failResponder(q, event) {
		const { host } = this;
		if (!host.breakQp(q, QpState.Err)) return;
		host.qpEvent(q, event);
		this.flush(q);
	}
	/** The receive CQ is full, so that its owner cannot learn of a message: a QP of any type ends with that. */
	overran(q) {
		this.failResponder(q, EventType.QpFatal);
	}
	/** A receive ends with an error that its owner made, and the QP with it. */
	failReceive(q, receive, status, srcQp) {
		const { host } = this;
		host.breakQp(q, QpState.Err);
		this.completeReceive(q, receive, status, WcOpcode.Recv, 0, 0, 0, srcQp, false);
		this.flush(q);
	}
	/** Flushes what a QP in ERR has in both queues, or one in SQE in its send queue. */
	flush(q) {
		const { i32, host } = this;
		const { segment } = host;
		if (i32[q + Qp$22.state] === QpState.Err) {
			const receive = i32[this.of(q) + TransportQp.receive];
			segment.lock(q + Qp$22.rqLock);
			if (receive !== 0 && i32[q + Qp$22.srq] >= 0) this.completeReceive(q, receive, WcStatus.WrFlushErr, WcOpcode.Recv, 0, 0, 0, 0, false);
			i32[this.of(q) + TransportQp.receive] = 0;
			host.flushReceives(q);
			segment.unlock(q + Qp$22.rqLock);
		} else if (i32[q + Qp$22.state] !== QpState.Sqe) return;
		segment.lock(q + Qp$22.sqLock);
		host.flushSends(q);
		segment.unlock(q + Qp$22.sqLock);
		const t = this.of(q);
		this.timers.cancelAll(t);
		i32[t + TransportQp.txIndex] = i32[q + Qp$22.sqNext];
		i32[t + TransportQp.freshIndex] = i32[q + Qp$22.sqNext];
		i32[t + TransportQp.txPsn] = i32[t + TransportQp.newPsn];
		i32[t + TransportQp.una] = i32[t + TransportQp.newPsn];
		i32[t + TransportQp.readsOut] = 0;
		i32[t + TransportQp.localError] = 0;
	}
};
// src/transport/ack-policy.ts
/**
* When an ACK that is due waits for a packet to go with, how long, and what ends that. One for each device and thread.
*
*     may wait    packets of the last batch completed receives: the program may reply
*     waits for   the next look at the device; where replies come late, as from an event loop, a few more
*     ends with   that look, a turn that does not look (the program has posted, or waits again), or `mostLooks`
*/
/** Looks for which ACKs wait at most: a peer that gets no reply must not wait for long. */
const mostLooks = 16;
var AckPolicy = class {
	#completed = false;
	/** For so many looks ACKs have waited. */
	#looks = 0;
	/** Whether ACKs wait. */
	get waiting() {
		return this.#looks > 0;
	}
	/** A batch of packets is about to be executed. */
	beginBatch() {
		this.#completed = false;
	}
	/** A packet completed a receive. */
	receiveCompleted() {
		this.#completed = true;
	}
	/** At the end of a turn: whether ACKs wait from now on, or go on waiting. `received` packets came in this turn. */
	defers(look, received, repliesLate) {
		const waits = this.#looks === 0 ? received > 0 && this.#completed : look && this.#looks < mostLooks && repliesLate;
		this.#looks = waits ? this.#looks + 1 : 0;
		return waits;
	}
	/** Whether the turn that has just ended was the first for which they wait. */
	get begins() {
		return this.#looks === 1;
	}
};
// src/transport/bth.ts
/** The base transport header, as the transport reads and writes it. */
/** Bytes of padding after the payload of the packet whose BTH is at `at`. */
function padOf(b, at) {
	return (b[at + Bth.flags] & BthFlag.pad) >> BthFlag.padShift;
}
/** Writes a BTH; the address is that of QP `destQp`. */
function putBth(b, at, opcode, flags, destQp, ackReq, psn) {
	b[at] = opcode;
	b[at + Bth.flags] = flags | BthFlag.migReq;
	put16(b, at + Bth.pkey, defaultPkey);
	b[at + Bth.ecn] = 0;
	put24(b, at + Bth.destQp, destQp);
	b[at + Bth.ackReq] = ackReq ? 128 : 0;
	put24(b, at + Bth.psn, psn);
}
// src/transport/credits.ts
/**
* End-to-end flow control of RC: with each acknowledgement the responder says how many receives it has, so that a
* requester does not send what would find none. Off unless a connection manager has set `TransportQp.flowControl` at both ends
* (CM REQ and REP agree on it); then ACKs say "no credits" and are not asked about them.
*
* Requests are numbered in the order they are sent (SSN, from 1; a READ counts as many as the chunks that it is asked for in);
* the responder counts those it has completed (MSN). It allows requests up to MSN + credits. One that takes a receive and is
* beyond that is limited: when all before it is acknowledged its first packet goes out alone and asks for an ACK, which brings
* new credits, or it is met with an RNR NAK; the rest follows the ACK. The others go out in any case. A responder may repeat its newest ACK to grant more.
*
* InfiniBand Architecture volume 1, 9.7.7.2.
*/
const { Qp: Qp$21, Wqe: Wqe$11 } = layout_exports;
/** The most receives that a credit code stands for; more are not said. */
const mostCredits = creditsOf(30);
const codes = /* @__PURE__ */ new Uint8Array(1024);
for (let code = 0; code < 31; code++) codes.fill(code, creditsOf(code));
function takesReceive(opcode) {
	return opcode === Opcode.Send || opcode === Opcode.SendWithImm || opcode === Opcode.SendWithInv || opcode === Opcode.WriteWithImm;
}
/** Whether the request at `wqe` takes a receive for which there is no credit. */
function isLimited(i32, t, wqe) {
	if (i32[t + TransportQp.flowControl] === 0 || i32[t + TransportQp.unlimited] === 1) return false;
	return takesReceive(i32[wqe + Wqe$11.opcode]) && psnDiff(i32[wqe + SendProgress.ssn], i32[t + TransportQp.limit]) > 0;
}
/** Whether the packet `txPsn` of a limited request at `wqe` has to wait for an ACK. */
function lacksCredit(i32, t, wqe) {
	if (!isLimited(i32, t, wqe)) return false;
	const first = i32[wqe + SendProgress.firstPsn];
	if (i32[t + TransportQp.txPsn] === first) return i32[t + TransportQp.una] !== first;
	return psnDiff(i32[t + TransportQp.una], first) <= 0;
}
/** What an ACK's AETH says of credits; late ones say nothing new. Whether it grants more than those before it. */
function grant(i32, t, syndrome, msn) {
	if (i32[t + TransportQp.flowControl] === 0 || (syndrome & 224) !== AethKind.Ack) return false;
	const code = syndrome & 31;
	const before = i32[t + TransportQp.unlimited];
	i32[t + TransportQp.unlimited] = code === 31 ? 1 : 0;
	if (code === 31) return before === 0;
	const limit = psnAdd(msn, creditsOf(code));
	if (psnDiff(limit, i32[t + TransportQp.limit]) <= 0) return false;
	i32[t + TransportQp.limit] = limit;
	return true;
}
/** The syndrome of an ACK of QP `q`. An SRQ's receives are nobody's in particular: nothing is said of them. */
function ackSyndrome(i32, q, t) {
	if (i32[t + TransportQp.flowControl] === 0 || i32[q + Qp$21.srq] >= 0) return Syndrome.AckNoCredits;
	const credits = Atomics.load(i32, q + Qp$21.rqHead) - i32[q + Qp$21.rqTail] | 0;
	return credits < codes.length ? codes[credits] : creditCode(Math.min(credits, mostCredits));
}
// src/transport/acknowledgements.ts
/**
* The ACKs and NAKs of the responder of RC. Both wait for the responses to earlier requests: in the order of PSNs they come
* after them. An ACK that is due may wait longer, for a packet to be sent with (`Transport.acknowledge`).
*
* InfiniBand Architecture volume 1, 9.7.5.
*/
const { Qp: Qp$20 } = layout_exports;
var Acknowledgements = class {
	#state;
	#i32;
	constructor(state) {
		this.#state = state;
		this.#i32 = state.i32;
	}
	/** One more request of the peer is executed, and counts in the MSN of what is sent from now on. */
	executed(t) {
		const i32 = this.#i32;
		i32[t + TransportQp.msn] = psnAdd(i32[t + TransportQp.msn], 1);
		this.#state.count(this.#state.counters.rdma_recvs);
	}
	/** The newest SEND or WRITE is to be acknowledged. */
	due(q, t) {
		this.#i32[t + TransportQp.ackDue] = 1;
		this.#state.scheduleAck(q);
	}
	/**
	* Sends the ACK that is due, unless responses with lower PSNs are still to be sent; false if there was no room. Its PSN
	* is that of the newest SEND or WRITE. READs and atomics after it are left out, since only their responses acknowledge
	* them: a requester that lost the response, and repeats what was before, could take an ACK with their PSN for their
	* completion. Linux does, and has then read nothing.
	*/
	send(q, sink) {
		const i32 = this.#i32;
		const t = this.#state.of(q);
		if (i32[t + TransportQp.ackDue] === 0 || i32[t + TransportQp.resNext] !== i32[t + TransportQp.resTail]) return true;
		if (!this.#sendAeth(q, t, ackSyndrome(i32, q, t), i32[t + TransportQp.plainPsn], sink)) return false;
		i32[t + TransportQp.ackDue] = 0;
		return true;
	}
	/** The request breaks a rule, which ends a QP of RC; the syndrome of the NAK. */
	invalid(q) {
		if (this.#i32[q + Qp$20.type] === QpType.RC) this.#state.failResponder(q, EventType.QpReqErr);
		return Syndrome.InvalidRequest;
	}
	/** The request may not do this with that memory, which ends a QP of RC; the syndrome of the NAK. */
	forbidden(q) {
		this.#state.count(this.#state.counters.resp_remote_access_errors);
		if (this.#i32[q + Qp$20.type] === QpType.RC) this.#state.failResponder(q, EventType.QpAccessErr);
		return Syndrome.RemoteAccess;
	}
	/**
	* Rejects the packet `psn`. Responses to earlier requests come first, at the pace of `Responses.send`: the NAK says that all
	* before it was executed, and a requester that lacks a response would ask for it again.
	*/
	reject(q, t, syndrome, psn, sink) {
		this.oweNak(t, syndrome, psn);
		if (this.#i32[t + TransportQp.resNext] === this.#i32[t + TransportQp.resTail] && this.sendNakDue(q, t, sink)) return;
		this.#state.schedule(q);
	}
	/** Leaves a NAK to be sent after the responses to earlier requests. */
	oweNak(t, syndrome, psn) {
		const i32 = this.#i32;
		i32[t + TransportQp.nakPsn] = psn;
		i32[t + TransportQp.nakSent] = 1;
		i32[t + TransportQp.nakDue] = syndrome;
	}
	/** Whether a QP in ERR has yet to send a NAK, and the responses before it. */
	owesNak(q) {
		return this.#i32[this.#state.of(q) + TransportQp.nakDue] > Syndrome.PsnSequence;
	}
	/** Sends the NAK that is due; false if there was no room. */
	sendNakDue(q, t, sink) {
		const i32 = this.#i32;
		const state = this.#state;
		const syndrome = i32[t + TransportQp.nakDue];
		if (!this.#sendAeth(q, t, syndrome, i32[t + TransportQp.nakPsn], sink)) return false;
		i32[t + TransportQp.nakDue] = 0;
		i32[t + TransportQp.ackDue] = 0;
		state.count(syndrome < Syndrome.PsnSequence ? state.counters.send_rnr_err : state.counters.naks_sent);
		return true;
	}
	#sendAeth(q, t, syndrome, psn, sink) {
		const length = Bth.length + Aeth.length;
		const at = sink.open(q + Qp$20.av, length);
		if (at < 0) return false;
		const { u8 } = this.#state;
		putBth(u8, at, WireOpcode.RcAck, 0, this.#i32[q + Qp$20.destQpNum], false, psn);
		u8[at + Bth.length + Aeth.syndrome] = syndrome;
		put24(u8, at + Bth.length + Aeth.msn, this.#i32[t + TransportQp.msn]);
		sink.close(length);
		return true;
	}
};
// src/transport/recovery.ts
/**
* How a requester of RC finds out early that a packet was lost, and how it keeps go-back-N from sending much in vain.
*
* The ACK timeout of a connection is long (the RDMA CM sets 2 s), because it decides when the peer is given up. What is
* lost at the end of what is outstanding, and an ACK or NAK that is lost, would be noticed only then. So the requester
* measures the round trip and goes back when nothing was heard for a mean and four deviations of it (the estimator of RFC
* 6298), each time after twice as long until a round trip was measured again: what is sent twice cannot be measured, so
* that a peer that has become slow would be asked again for ever. That costs none of the `retryCnt` retries: these are for
* the ACK timeout and for the first NAK since anything was acknowledged. NAKs that follow, implied ones too, may be about
* what was sent before, and come as fast as the link carries them: seven would end a connection whose peer is there. The
* requester goes back for those that a round trip later tell something new, the next time two, and so on, but the ACK
* timeout runs on meanwhile.
*
* Where nothing is lost nothing is to be sent twice. The peer is a thread, which the system may keep waiting, however
* steady the round trip was until now: so the allowance for deviation has a minimum, as in RFC 6298. It comes on top of the
* mean, so that it is there on a long path, too. And if this thread notices late that it has waited long enough, it was
* itself kept waiting: it waits once more.
*
*     sent ──── early ──── early ──────── early … ──── ACK timeout: one retry less
*
* All that is sent behind a lost packet is sent in vain. Between two losses it gets so far, its run; four times as much may be
* outstanding after a loss, and each acknowledged packet allows one more, so that without losses the limit is gone soon.
*/
/** The wait before it goes back until a round trip was measured, in shortest ACK timeouts. */
const firstWaits = 10;
/** What it waits for beyond the mean of the round trip, at least, in shortest ACK timeouts. */
const leastAllowance = 3;
const mostDoublings = 10;
/** Packets that may always be outstanding. */
const leastWindow = 64;
var Recovery = class {
	#i32;
	#f64;
	#leastNs;
	/** `leastNs` is the shortest ACK timeout. */
	constructor(i32, f64, leastNs) {
		this.#i32 = i32;
		this.#f64 = f64;
		this.#leastNs = leastNs;
	}
	begin(t) {
		const i32 = this.#i32;
		i32[t + TransportQp.window] = 0;
		i32[t + TransportQp.early] = 0;
		i32[t + TransportQp.runFrom] = i32[t + TransportQp.una];
		this.#f64[t + TransportQp.roundTrip >> 1] = 0;
		this.#f64[t + TransportQp.timedNs >> 1] = 0;
	}
	/** The packet `psn`, which the responder answers, is sent for the first time. */
	sent(t, psn, nowNs) {
		const timed = t + TransportQp.timedNs >> 1;
		if (this.#f64[timed] !== 0) return;
		this.#f64[timed] = nowNs;
		this.#i32[t + TransportQp.timedPsn] = psn;
	}
	/** `packets` more are acknowledged, of at most `most` outstanding ones. */
	progress(t, packets, most, nowNs) {
		const i32 = this.#i32;
		const f64 = this.#f64;
		if (i32[t + TransportQp.window] !== 0) {
			const window = i32[t + TransportQp.window] + packets;
			i32[t + TransportQp.window] = window < most ? window : 0;
		}
		const timed = t + TransportQp.timedNs >> 1;
		if (f64[timed] === 0 || psnDiff(i32[t + TransportQp.una], i32[t + TransportQp.timedPsn]) <= 0) return;
		const sample = nowNs - f64[timed];
		f64[timed] = 0;
		i32[t + TransportQp.early] = 0;
		const mean = t + TransportQp.roundTrip >> 1;
		const deviation = t + TransportQp.deviation >> 1;
		if (f64[mean] === 0) {
			f64[mean] = Math.max(1, sample);
			f64[deviation] = sample / 2;
			return;
		}
		f64[deviation] = f64[deviation] + (Math.abs(sample - f64[mean]) - f64[deviation]) / 4;
		f64[mean] = Math.max(1, f64[mean] + (sample - f64[mean]) / 8);
	}
	/** It goes back, since something was lost. */
	restart(t, most, nowNs) {
		const i32 = this.#i32;
		const run = psnDiff(i32[t + TransportQp.una], i32[t + TransportQp.runFrom]);
		const window = Math.max(leastWindow, 4 * run);
		i32[t + TransportQp.window] = window < most ? window : 0;
		i32[t + TransportQp.runFrom] = i32[t + TransportQp.una];
		this.pause(t);
		this.#f64[t + TransportQp.restartNs >> 1] = nowNs;
	}
	/** What is sent again says nothing of the round trip. */
	pause(t) {
		this.#f64[t + TransportQp.timedNs >> 1] = 0;
	}
	/** Packets that may be outstanding, of `most`. */
	window(t, most) {
		const window = this.#i32[t + TransportQp.window];
		return window === 0 ? most : Math.min(window, most);
	}
	/** How long it waits for the peer before it goes back. */
	waitNs(t) {
		const mean = this.#f64[t + TransportQp.roundTrip >> 1];
		const deviation = this.#f64[t + TransportQp.deviation >> 1];
		return (mean === 0 ? firstWaits * this.#leastNs : mean + Math.max(leastAllowance * this.#leastNs, 4 * deviation)) * 2 ** Math.min(mostDoublings, this.#i32[t + TransportQp.early]);
	}
	/**
	* Whether a NAK for the oldest packet can be about what was sent when it last went back: a round trip has passed, and each
	* time that it has gone back in vain twice as much.
	*/
	isNews(t, nowNs) {
		const mean = this.#f64[t + TransportQp.roundTrip >> 1];
		const times = Math.max(1, this.#i32[t + TransportQp.resending]);
		const wait = mean * .75 * 2 ** (Math.min(mostDoublings, times) - 1);
		return mean !== 0 && nowNs - this.#f64[t + TransportQp.restartNs >> 1] >= wait;
	}
};
// src/transport/send-queue.ts
/**
* The send queue of a connected QP, as the requester, which sends from it, and the completer, which hears of what was sent,
* share it: its entries, the timers of what is outstanding, and completions from its front.
*/
const { Qp: Qp$19, Wqe: Wqe$10 } = layout_exports;
/** Unacknowledged packets of one connection, at most. */
const maxWindow = 256;
/** Local ACK timeouts, ns, by their code: 4.096 µs · 2^code (C9-140). */
const ackTimeoutNs = Float64Array.from({ length: 32 }, (_, code) => 4096 * 2 ** code);
/** Whether the responder answers a request with a response, for which it keeps a resource. */
function hasResponse(opcode) {
	return opcode === Opcode.Read || opcode === Opcode.AtomicCmpAndSwp || opcode === Opcode.AtomicFetchAndAdd || opcode === Opcode.Flush || opcode === Opcode.AtomicWrite;
}
var SendQueue = class {
	recovery;
	#state;
	#i32;
	#f64;
	#timers;
	constructor(state) {
		this.#state = state;
		this.#i32 = state.i32;
		this.#f64 = state.f64;
		this.#timers = state.timers;
		this.recovery = new Recovery(state.i32, state.f64, state.options.minTimeoutNs);
	}
	/** First word of the entry with this index. */
	wqe(q, index) {
		const i32 = this.#i32;
		return i32[q + Qp$19.sqRing] + (index & i32[q + Qp$19.sqMask]) * i32[q + Qp$19.sqStride];
	}
	/** Gives the retries back: something has progressed. */
	restartCounts(q, t) {
		this.#i32[t + TransportQp.retriesLeft] = this.#i32[q + Qp$19.retryCnt];
		this.#i32[t + TransportQp.rnrLeft] = this.#i32[q + Qp$19.rnrRetry];
	}
	/** Packets of this MTU that may be outstanding. */
	window(mtu) {
		return Math.min(maxWindow, Math.max(16, Math.floor(this.#state.options.windowBytes / mtu)));
	}
	/** The ACK timeout, and with it the wait before it, begins anew if anything is outstanding; else neither runs. */
	armAckTimeout(q, t, nowNs) {
		const i32 = this.#i32;
		const timeout = i32[q + Qp$19.timeout];
		if (timeout === 0 || i32[t + TransportQp.una] === i32[t + TransportQp.newPsn] || i32[q + Qp$19.type] !== QpType.RC) {
			this.#timers.cancelAckTimeout(t);
			return;
		}
		const waitNs = Math.max(this.#state.options.minTimeoutNs, ackTimeoutNs[timeout]);
		i32[t + TransportQp.heldUp] = 0;
		this.#timers.armAckTimeout(q, t, nowNs + waitNs, nowNs + this.recovery.waitNs(t));
	}
	/** Whether anything that is outstanding asks for an ACK or a response: nothing is expected before. */
	expectsAck(t) {
		const i32 = this.#i32;
		return i32[t + TransportQp.readsOut] > 0 || psnDiff(i32[t + TransportQp.lastAckReq], i32[t + TransportQp.una]) >= 0;
	}
	/** While the ACK timeout runs: waits for the peer as long as it usually takes. */
	armEarly(q, t, nowNs) {
		this.#timers.armEarly(q, t, nowNs + this.recovery.waitNs(t));
	}
	/** Ends the request at the front with the status in `localError`. */
	failLocally(q, t) {
		const status = this.#i32[t + TransportQp.localError];
		this.#i32[t + TransportQp.localError] = 0;
		this.#state.failRequest(q, status);
	}
	/** Completes what is done at the front of the send queue, and sees what may go on because of that. */
	completeReady(q, t) {
		const i32 = this.#i32;
		const { host } = this.#state;
		for (;;) {
			const next = i32[q + Qp$19.sqNext];
			if (next === i32[t + TransportQp.freshIndex]) break;
			const wqe = this.wqe(q, next);
			let bytes = 0;
			if (i32[wqe + SendProgress.settled] === 0) {
				if (psnDiff(i32[t + TransportQp.una], i32[wqe + SendProgress.lastPsn]) <= 0) break;
				const opcode = i32[wqe + Wqe$10.opcode];
				if (hasResponse(opcode) && opcode !== Opcode.Flush && opcode !== Opcode.AtomicWrite) bytes = this.#f64[wqe + SendProgress.length >> 1];
			}
			if (!host.completeSend(q, WcStatus.Success, bytes)) {
				this.#state.flush(q);
				return;
			}
		}
		if (i32[t + TransportQp.localError] !== 0 && i32[q + Qp$19.sqNext] === i32[t + TransportQp.freshIndex]) this.failLocally(q, t);
		else if (i32[t + TransportQp.txIndex] !== i32[q + Qp$19.sqHead]) this.#state.schedule(q);
	}
	/** Packets of a READ response that one request asks for: the range between two multiples of this in which a PSN lies. */
	chunkPackets(mtu) {
		return Math.max(1, Math.min(Math.floor(this.#state.options.readChunkBytes / mtu), this.window(mtu)));
	}
};
// src/transport/completer.ts
/**
* The completer of RC: what comes back from the responder, and what does not. ACKs and responses complete requests; NAKs and
* time-outs set the requester back.
*
* InfiniBand Architecture volume 1, 9.7.5.
*/
const { Qp: Qp$18, Wqe: Wqe$9 } = layout_exports;
/** The `rnrRetry` that retries for ever. */
const forever = 7;
var Completer = class {
	#state;
	#queue;
	#i32;
	#f64;
	#timers;
	#u8;
	constructor(state, queue) {
		this.#state = state;
		this.#queue = queue;
		this.#i32 = state.i32;
		this.#f64 = state.f64;
		this.#timers = state.timers;
		this.#u8 = state.u8;
	}
	/** A packet from the responder of `q`: [at, end) from BTH to the end of the pad. */
	receive(q, op, at, end, psn, nowNs) {
		const i32 = this.#i32;
		const state = this.#state;
		const t = state.of(q);
		const qpState = i32[q + Qp$18.state];
		const bits = opcodeBits[op];
		if (qpState !== QpState.Rts && qpState !== QpState.Sqd || (i32[t + TransportQp.ready] & begun.requester) === 0) {
			state.count(state.counters.drops_qp_state);
			return;
		}
		const aeth = at + Bth.length;
		if (psnDiff(psn, i32[t + TransportQp.una]) < 0 || psnDiff(psn, i32[t + TransportQp.newPsn]) >= 0) {
			if ((bits & OpBit.Ack) !== 0 && psn === psnAdd(i32[t + TransportQp.una], -1) && grant(i32, t, this.#u8[aeth + Aeth.syndrome], u24(this.#u8, aeth + Aeth.msn))) state.schedule(q);
			else state.count(state.counters.drops_unexpected_ack);
			return;
		}
		if ((bits & OpBit.Aeth) !== 0) grant(i32, t, this.#u8[aeth + Aeth.syndrome], u24(this.#u8, aeth + Aeth.msn));
		if ((bits & OpBit.Ack) === 0) this.#response(q, t, bits, at, end, psn, nowNs);
		else {
			const syndrome = this.#u8[aeth + Aeth.syndrome];
			const kind = syndrome & 224;
			if (kind === AethKind.Ack) {
				if (!this.#acknowledge(q, t, psn, nowNs)) this.#goBack(q, t, nowNs, state.counters.completer_retry_err, psn);
			} else if (kind === AethKind.RnrNak) this.#receiverNotReady(q, t, psn, syndrome & 31, nowNs);
			else if (kind === AethKind.Nak) this.#negative(q, t, psn, syndrome, nowNs);
			else state.count(state.counters.drops_malformed);
		}
		if (i32[q + Qp$18.state] === QpState.Sqd) state.host.drained(q);
	}
	/**
	* All packets up to `psn` have arrived. False if a response that must have come before it is missing: an implied NAK.
	*/
	#acknowledge(q, t, psn, nowNs) {
		const i32 = this.#i32;
		let una = i32[t + TransportQp.una];
		let whole = true;
		for (let index = i32[q + Qp$18.sqNext]; index !== i32[t + TransportQp.freshIndex]; index = index + 1 | 0) {
			const wqe = this.#queue.wqe(q, index);
			if (i32[wqe + SendProgress.settled] === 1) continue;
			const last = i32[wqe + SendProgress.lastPsn];
			if (psnDiff(last, una) < 0) continue;
			if (psnDiff(psn, una) < 0) break;
			if (hasResponse(i32[wqe + Wqe$9.opcode])) {
				whole = false;
				break;
			}
			una = psnAdd(psnDiff(last, psn) < 0 ? last : psn, 1);
		}
		if (una !== i32[t + TransportQp.una]) this.#progress(q, t, una, nowNs);
		return whole;
	}
	/** The oldest packet that is not acknowledged is `una` now. */
	#progress(q, t, una, nowNs) {
		const i32 = this.#i32;
		const packets = psnDiff(una, i32[t + TransportQp.una]);
		i32[t + TransportQp.una] = una;
		this.#queue.recovery.progress(t, packets, this.#queue.window(i32[q + Qp$18.pathMtu]), nowNs);
		i32[t + TransportQp.resending] = 0;
		this.#timers.cancelRnr(t);
		this.#queue.restartCounts(q, t);
		if (psnDiff(i32[t + TransportQp.txPsn], una) < 0) this.#sendFrom(q, t, una);
		this.#queue.armAckTimeout(q, t, nowNs);
		this.#queue.completeReady(q, t);
	}
	/** Sets the sender to the packet `psn`. */
	#sendFrom(q, t, psn) {
		const i32 = this.#i32;
		let index = i32[q + Qp$18.sqNext];
		for (; index !== i32[t + TransportQp.freshIndex]; index = index + 1 | 0) {
			const wqe = this.#queue.wqe(q, index);
			if (i32[wqe + SendProgress.settled] === 0 && psnDiff(i32[wqe + SendProgress.lastPsn], psn) >= 0) break;
		}
		i32[t + TransportQp.txIndex] = index;
		i32[t + TransportQp.txPsn] = psn;
		i32[t + TransportQp.lastAckReq] = psnAdd(psn, -1);
	}
	/**
	* Sends everything again from the oldest packet on, unless that is being done; `cause` is the counter, `psn` what showed
	* that a response is missing. The first time since the peer acknowledged anything costs a retry, and so does each ACK
	* timeout; what the peer says meanwhile costs none, since it shows that the peer is there.
	*/
	#goBack(q, t, nowNs, cause, psn) {
		const i32 = this.#i32;
		const state = this.#state;
		const news = (cause !== state.counters.completer_retry_err || psnDiff(psn, i32[t + TransportQp.gapPsn]) <= 0) && this.#queue.recovery.isNews(t, nowNs);
		const resending = i32[t + TransportQp.resending] !== 0 && cause !== state.counters.timeouts;
		if (this.#timers.rnrRuns(t) || resending && !news) {
			if (cause === state.counters.completer_retry_err) state.count(state.counters.drops_unexpected_ack);
			return;
		}
		state.count(cause);
		const free = resending && this.#timers.ackTimeoutRuns(t);
		if (!free) {
			if (i32[t + TransportQp.retriesLeft] === 0) {
				state.count(state.counters.retry_exceeded_err);
				state.failRequest(q, WcStatus.RetryExcErr);
				return;
			}
			i32[t + TransportQp.retriesLeft] = i32[t + TransportQp.retriesLeft] - 1;
		}
		this.#queue.recovery.restart(t, this.#queue.window(i32[q + Qp$18.pathMtu]), nowNs);
		i32[t + TransportQp.gapPsn] = psn;
		this.#restart(q, t);
		if (free) this.#queue.armEarly(q, t, nowNs);
		else this.#queue.armAckTimeout(q, t, nowNs);
	}
	#restart(q, t) {
		const i32 = this.#i32;
		i32[t + TransportQp.resending] = i32[t + TransportQp.resending] + 1;
		i32[t + TransportQp.readsOut] = 0;
		this.#sendFrom(q, t, i32[t + TransportQp.una]);
		this.#state.schedule(q);
	}
	/** The thread that drove this requester was killed: what is outstanding is sent again, at the cost of no retry. */
	resume(q, t, nowNs) {
		const i32 = this.#i32;
		const first = i32[q + Qp$18.sqNext];
		const fresh = i32[t + TransportQp.freshIndex];
		if (first !== fresh) {
			const newest = this.#queue.wqe(q, fresh - 1);
			if (i32[newest + SendProgress.settled] === 0) i32[t + TransportQp.ssn] = i32[newest + SendProgress.ssn];
		}
		this.#queue.restartCounts(q, t);
		this.#queue.recovery.pause(t);
		this.#restart(q, t);
		i32[t + TransportQp.resending] = i32[t + TransportQp.una] === i32[t + TransportQp.newPsn] ? 0 : 1;
		if (this.#timers.rnrRuns(t)) this.#timers.armRnr(q, t, this.#f64[t + TransportQp.rnrExpiresNs >> 1]);
		else this.#queue.armAckTimeout(q, t, nowNs);
		this.#queue.completeReady(q, t);
	}
	#receiverNotReady(q, t, psn, code, nowNs) {
		const i32 = this.#i32;
		const state = this.#state;
		const whole = this.#acknowledge(q, t, psnAdd(psn, -1), nowNs);
		if (i32[q + Qp$18.state] !== QpState.Rts && i32[q + Qp$18.state] !== QpState.Sqd) return;
		state.count(state.counters.rcvd_rnr_err);
		if (!whole || i32[t + TransportQp.una] !== psn) {
			this.#goBack(q, t, nowNs, state.counters.completer_retry_err, psn);
			return;
		}
		if (this.#timers.rnrRuns(t)) return;
		if (i32[q + Qp$18.rnrRetry] !== forever) {
			if (i32[t + TransportQp.rnrLeft] === 0) {
				state.count(state.counters.retry_rnr_exceeded_err);
				state.failRequest(q, WcStatus.RnrRetryExcErr);
				return;
			}
			i32[t + TransportQp.rnrLeft] = i32[t + TransportQp.rnrLeft] - 1;
		}
		i32[t + TransportQp.retriesLeft] = i32[q + Qp$18.retryCnt];
		this.#queue.recovery.pause(t);
		this.#restart(q, t);
		i32[t + TransportQp.resending] = 0;
		this.#timers.armRnr(q, t, nowNs + rnrTimerNs[code]);
	}
	#negative(q, t, psn, syndrome, nowNs) {
		const i32 = this.#i32;
		const state = this.#state;
		state.count(state.counters.naks_rcvd);
		const whole = this.#acknowledge(q, t, psnAdd(psn, -1), nowNs);
		if (i32[q + Qp$18.state] !== QpState.Rts && i32[q + Qp$18.state] !== QpState.Sqd) return;
		if (!whole || syndrome === Syndrome.PsnSequence) {
			this.#goBack(q, t, nowNs, state.counters.rcvd_seq_err, i32[t + TransportQp.newPsn]);
			return;
		}
		let status = WcStatus.RemOpErr;
		if (syndrome === Syndrome.InvalidRequest || syndrome === Syndrome.InvalidRdRequest) status = WcStatus.RemInvReqErr;
		else if (syndrome === Syndrome.RemoteAccess) status = WcStatus.RemAccessErr;
		else if (syndrome !== Syndrome.RemoteOperational) status = WcStatus.BadRespErr;
		state.count(status === WcStatus.RemAccessErr ? state.counters.remote_access_errors : state.counters.remote_invalid_requests);
		state.failRequest(q, status);
	}
	/** READ response or atomic acknowledgement: data for the oldest request that waits for a response. */
	#response(q, t, bits, at, end, psn, nowNs) {
		const i32 = this.#i32;
		const u8 = this.#u8;
		const state = this.#state;
		const whole = this.#acknowledge(q, t, psnAdd(psn, -1), nowNs);
		const qpState = i32[q + Qp$18.state];
		if (qpState !== QpState.Rts && qpState !== QpState.Sqd) return;
		if (!whole || i32[t + TransportQp.una] !== psn) {
			this.#goBack(q, t, nowNs, state.counters.completer_retry_err, psn);
			return;
		}
		const wqe = this.#queue.wqe(q, i32[q + Qp$18.sqNext]);
		const opcode = i32[wqe + Wqe$9.opcode];
		const atomic = opcode === Opcode.AtomicCmpAndSwp || opcode === Opcode.AtomicFetchAndAdd;
		if (!hasResponse(opcode) || atomic !== ((bits & OpBit.AtomicAck) !== 0)) {
			state.failRequest(q, WcStatus.BadRespErr);
			return;
		}
		const pd = i32[q + Qp$18.pd];
		const header = headerLength[u8[at]];
		let filled = true;
		let chunkEnds = true;
		if (atomic) {
			const original = at + header - 8;
			i32[wqe + Wqe$9.compareAdd + 1] = u32(u8, original);
			i32[wqe + Wqe$9.compareAdd] = u32(u8, original + 4);
			filled = state.buffers.bringBack(pd, wqe, 0, 8, (wqe + Wqe$9.compareAdd) * 4);
		} else {
			const mtu = i32[q + Qp$18.pathMtu];
			const number = psnDiff(psn, i32[wqe + SendProgress.firstPsn]);
			const expected = opcode === Opcode.Read ? Math.min(mtu, this.#f64[wqe + SendProgress.length >> 1] - number * mtu) : 0;
			const pad = padOf(u8, at);
			if (end - at - header - pad !== expected) {
				state.failRequest(q, WcStatus.BadRespErr);
				return;
			}
			filled = state.buffers.bringBack(pd, wqe, number * mtu, expected, at + header);
			if (opcode === Opcode.Read) {
				const chunk = this.#queue.chunkPackets(mtu);
				chunkEnds = psn === i32[wqe + SendProgress.lastPsn] || (number + 1) % chunk === 0;
			}
		}
		if (!filled) {
			state.failRequest(q, WcStatus.LocProtErr);
			return;
		}
		if (chunkEnds && i32[t + TransportQp.readsOut] > 0) i32[t + TransportQp.readsOut] = i32[t + TransportQp.readsOut] - 1;
		this.#progress(q, t, psnAdd(psn, 1), nowNs);
	}
	ackTimeoutExpired(q, t, nowNs) {
		const i32 = this.#i32;
		this.#goBack(q, t, nowNs, this.#state.counters.timeouts, i32[t + TransportQp.newPsn]);
	}
	/** Nothing was heard for longer than it usually takes: what is outstanding is sent again, at the cost of no retry. */
	earlyExpired(q, t, nowNs, lateNs) {
		const i32 = this.#i32;
		if (lateNs > 1e6 && i32[t + TransportQp.heldUp] === 0) i32[t + TransportQp.heldUp] = 1;
		else if (this.#queue.expectsAck(t)) {
			this.#state.count(this.#state.counters.early_retransmits);
			i32[t + TransportQp.early] = i32[t + TransportQp.early] + 1;
			i32[t + TransportQp.heldUp] = 0;
			this.#queue.recovery.restart(t, this.#queue.window(i32[q + Qp$18.pathMtu]), nowNs);
			i32[t + TransportQp.gapPsn] = i32[t + TransportQp.newPsn];
			this.#restart(q, t);
		}
		this.#queue.armEarly(q, t, nowNs);
	}
	rnrExpired(q) {
		this.#state.schedule(q);
	}
	paceExpired(q) {
		this.#state.schedule(q);
	}
};
// src/transport/datagrams.ts
/**
* UD: one packet a message, no connection, no answer. The sender's request completes when the packet has left; a receiver
* that cannot take it drops and counts it. Its buffer begins with 40 bytes in which the IP header is put: an IPv6 header,
* or 20 bytes of zeros and an IPv4 header (annex A17, 17.4.4).
*/
const { Av: Av$3, avMulticast: avMulticast$2, Dev: Dev$14, Meta: Meta$7, Qp: Qp$17, Wqe: Wqe$8 } = layout_exports;
var Datagrams$1 = class {
	#state;
	#mtu;
	#grh;
	#gsi;
	/** `scratch` is the byte offset of 64 bytes in the segment. */
	constructor(state, mtu, scratch) {
		this.#state = state;
		this.#mtu = mtu;
		this.#grh = scratch;
		this.#gsi = new GsiDispatch(state.host);
	}
	/** Sends up to `budget` datagrams; true if it stopped for the budget or for lack of room. */
	transmit(q, sink, budget) {
		const state = this.#state;
		const { i32, host } = state;
		const t = state.of(q);
		for (let sent = 0;; sent++) {
			const qpState = i32[q + Qp$17.state];
			if (qpState === QpState.Err || qpState === QpState.Sqe) state.flush(q);
			const next = i32[q + Qp$17.sqNext];
			const draining = qpState === QpState.Sqd && (next - i32[q + Qp$17.sqDrainAt] | 0) >= 0;
			if (draining) state.host.drained(q);
			if (qpState !== QpState.Rts && qpState !== QpState.Sqd || draining) return false;
			if (next === Atomics.load(i32, q + Qp$17.sqHead)) return false;
			if (sent >= budget) return true;
			if ((i32[t + TransportQp.ready] & begun.requester) === 0) {
				i32[t + TransportQp.newPsn] = i32[q + Qp$17.sqPsn];
				i32[t + TransportQp.ready] = i32[t + TransportQp.ready] | begun.requester;
			}
			const wqe = i32[q + Qp$17.sqRing] + (next & i32[q + Qp$17.sqMask]) * i32[q + Qp$17.sqStride];
			const status = this.#send(q, t, wqe, sink);
			if (status < 0) return true;
			if (status !== WcStatus.Success) state.failRequest(q, status);
			else if (!host.completeSend(q, WcStatus.Success, 0)) state.flush(q);
		}
	}
	#send(q, t, wqe, sink) {
		const state = this.#state;
		const { i32, u8 } = state;
		const opcode = i32[wqe + Wqe$8.opcode];
		if (opcode !== Opcode.Send && opcode !== Opcode.SendWithImm) return WcStatus.LocQpOpErr;
		const pd = i32[q + Qp$17.pd];
		const bytes = state.buffers.gather(pd, wqe, 0);
		if (bytes < 0) return WcStatus.LocProtErr;
		if (bytes > this.#mtu) return WcStatus.LocLenErr;
		const av = wqe + Wqe$8.av;
		if (i32[av + Av$3.device] < 0) {
			state.count(state.counters.drops_no_path);
			return WcStatus.Success;
		}
		const wire = opcode === Opcode.Send ? WireOpcode.UdSendOnly : WireOpcode.UdSendOnlyWithImm;
		const header = headerLength[wire];
		const pad = -bytes & 3;
		const at = sink.open(av, header + bytes + pad);
		if (at < 0) return -1;
		const psn = i32[t + TransportQp.newPsn];
		putBth(u8, at, wire, ((i32[wqe + Wqe$8.flags] & SendFlag.Solicited) !== 0 ? BthFlag.solicited : 0) | pad << BthFlag.padShift, (i32[av + Av$3.flags] & avMulticast$2) !== 0 ? multicastQpn : i32[wqe + Wqe$8.remoteQpn], false, psn);
		const extension = at + Bth.length;
		const qkey = i32[wqe + Wqe$8.remoteQkey];
		put32(u8, extension + Deth.qkey, qkey < 0 ? i32[q + Qp$17.qkey] : qkey);
		u8[extension + 4] = 0;
		put24(u8, extension + Deth.srcQp, i32[q + Qp$17.type] === QpType.GSI ? 1 : i32[q + Qp$17.number]);
		if (opcode === Opcode.SendWithImm) put32(u8, extension + Deth.length, i32[wqe + Wqe$8.immData]);
		if (!state.buffers.read(pd, wqe, 0, bytes, at + header)) return WcStatus.LocProtErr;
		for (let i = 0; i < pad; i++) u8[at + header + bytes + i] = 0;
		sink.close(header + bytes + pad);
		i32[t + TransportQp.newPsn] = psnAdd(psn, 1);
		state.count(state.counters.rdma_sends);
		return WcStatus.Success;
	}
	/** A datagram for `q`: [at, end) from BTH to the end of the pad. */
	receive(q, op, at, end, origin) {
		const state = this.#state;
		const { i32, u8, host } = state;
		const extension = at + Bth.length;
		if ((u32(u8, extension + Deth.qkey) | 0) !== i32[q + Qp$17.qkey]) {
			state.count(state.counters.ud_drops_qkey);
			Atomics.add(i32, host.deviceWord(state.device) + Dev$14.qkeyViolations, 1);
			return;
		}
		const header = headerLength[op];
		const pad = padOf(u8, at);
		const bytes = end - at - header - pad;
		if (bytes > this.#mtu) {
			state.count(state.counters.drops_malformed);
			return;
		}
		const t = state.of(q);
		state.beginPacket(q, t);
		let receive = i32[t + TransportQp.receive];
		if (receive === 0) receive = state.takeReceive(q, 40 + bytes);
		else if (host.receiveIsShort(receive, 40 + bytes)) receive = -2;
		if (receive < 0) {
			state.end();
			state.count(receive === -1 ? state.counters.ud_drops_no_receive : state.counters.ud_drops_length);
			return;
		}
		const sender = u24(u8, extension + Deth.srcQp);
		const pd = state.receivePd(q);
		this.#writeHeader(end - at, origin);
		let status = state.buffers.scatter(pd, receive, 0, 40, this.#grh);
		if (status === WcStatus.Success) status = state.buffers.scatter(pd, receive, 40, bytes, at + header);
		i32[t + TransportQp.receive] = 0;
		if (status !== WcStatus.Success) {
			state.failReceive(q, receive, status, sender);
			state.end();
			return;
		}
		const imm = (opcodeBits[op] & OpBit.Imm) !== 0;
		const flags = WcFlag.Grh | (imm ? WcFlag.WithImm : 0);
		const data = imm ? u32(u8, extension + Deth.length) | 0 : 0;
		const solicited = (u8[at + Bth.flags] & BthFlag.solicited) !== 0;
		state.count(state.counters.rdma_recvs);
		const length = 40 + bytes;
		if (!state.completeReceive(q, receive, WcStatus.Success, WcOpcode.Recv, flags, length, data, sender, solicited)) state.overran(q);
		state.end();
	}
	/** To every QP that is attached to the group; how many there are. */
	receiveGroup(op, at, end, origin) {
		const state = this.#state;
		const { i32, host } = state;
		const { destination } = origin;
		let delivered = 0;
		for (let i = 0; i < i32[host.at.meta + Meta$7.mcastHigh]; i++) {
			const q = mcastMember(host, i, destination, 0, state.device, state.device + 1);
			if (q < 0) continue;
			const qpState = i32[q + Qp$17.state];
			if (qpState < QpState.Rtr || qpState === QpState.Err) continue;
			this.receive(q, op, at, end, origin);
			delivered++;
		}
		return delivered;
	}
	/** For QP 1: delivers it to the agents that it is meant for. */
	receiveManagement(op, at, end, origin) {
		const { i32, u8, device } = this.#state;
		const header = headerLength[op];
		const pad = padOf(u8, at);
		const found = this.#gsi.find(device, u8, at + header, end - at - header - pad);
		for (let i = 0; i < found; i++) {
			const q = this.#gsi.targets[i];
			const qpState = i32[q + Qp$17.state];
			if (qpState >= QpState.Rtr && qpState !== QpState.Err) this.receive(q, op, at, end, origin);
			else this.#state.count(this.#state.counters.drops_qp_state);
		}
	}
	/** Puts the IP header of a packet, as far as a UDP socket tells of it, where a GRH stands. */
	#writeHeader(packetBytes, origin) {
		const { u8 } = this.#state;
		const at = this.#grh;
		const udp = packetBytes + Icrc.length + Udp.length;
		u8.fill(0, at, at + 40);
		if (origin.ipv4) {
			const ip = at + 40 - Ipv4.length;
			u8[ip] = 69;
			u8[ip + 1] = origin.trafficClass;
			put16(u8, ip + 2, udp + Ipv4.length);
			u8[ip + 6] = 64;
			u8[ip + 8] = origin.hopLimit;
			u8[ip + 9] = 17;
			for (let i = 0; i < 4; i++) {
				u8[ip + 12 + i] = origin.sourceBytes[12 + i];
				u8[ip + 16 + i] = origin.destinationBytes[12 + i];
			}
			let sum = 0;
			for (let i = 0; i < Ipv4.length; i += 2) sum += u8[ip + i] << 8 | u8[ip + i + 1];
			sum = (sum & 65535) + (sum >>> 16);
			put16(u8, ip + 10, ~((sum & 65535) + (sum >>> 16)));
			return;
		}
		u8[at] = 96 | origin.trafficClass >> 4;
		u8[at + 1] = (origin.trafficClass & 15) << 4;
		put16(u8, at + 4, udp);
		u8[at + 6] = 17;
		u8[at + 7] = origin.hopLimit;
		u8.set(origin.sourceBytes, at + 8);
		u8.set(origin.destinationBytes, at + 24);
	}
};
// src/transport/origin.ts
/** What the network layer says of a packet: where it came from and went to, and what routers may have written on it. */
var Origin = class {
	/** GIDs as four words each, as they are in memory; IPv4 as ::ffff:a.b.c.d. */
	source = /* @__PURE__ */ new Int32Array(4);
	destination = /* @__PURE__ */ new Int32Array(4);
	sourceBytes = new Uint8Array(this.source.buffer);
	destinationBytes = new Uint8Array(this.destination.buffer);
	ipv4 = true;
	/** TOS or traffic class, with the two ECN bits. */
	trafficClass = 0;
	hopLimit = 64;
};
// src/transport/requester.ts
/**
* The requester of RC and UC: takes requests from the send queue and cuts them into packets. It completes those of UC when the
* last packet has left; those of RC complete when the responder has acknowledged them (completer.ts).
*
*     sqNext         una                    txPsn                newPsn
*       │ completed   │ in flight            │ being sent again    │ never sent          PSN →
*
* Everything about a packet follows from its PSN: the request it belongs to, and its offset in there. To go back N, only
* `txIndex` and `txPsn` are set back. A READ takes the PSNs of its responses; one of many packets is asked for in chunks,
* so that responses never exceed what a receive buffer holds, and asked for again from the byte that is missing.
*
* InfiniBand Architecture volume 1, 9.7.3 and 9.7.5; C9-… in comments are its compliance statements.
*/
const { Qp: Qp$16, Sg: Sg$3, Wqe: Wqe$7 } = layout_exports;
/** PSNs that may be outstanding. */
const mostPsns = 2 ** 23;
/** Wire opcodes of RC for first, middle, last and only packet of each send opcode; UC has the same ones above 0x20. */
const packets = /* @__PURE__ */ new Uint8Array(64);
function packetsOf(opcode, first, middle, last, only) {
	packets.set([
		first,
		middle,
		last,
		only
	], opcode * 4);
}
{
	const w = WireOpcode;
	packetsOf(Opcode.Send, w.RcSendFirst, w.RcSendMiddle, w.RcSendLast, w.RcSendOnly);
	packetsOf(Opcode.SendWithImm, w.RcSendFirst, w.RcSendMiddle, w.RcSendLastWithImm, w.RcSendOnlyWithImm);
	packetsOf(Opcode.SendWithInv, w.RcSendFirst, w.RcSendMiddle, w.RcSendLastWithInv, w.RcSendOnlyWithInv);
	packetsOf(Opcode.Write, w.RcWriteFirst, w.RcWriteMiddle, w.RcWriteLast, w.RcWriteOnly);
	packetsOf(Opcode.WriteWithImm, w.RcWriteFirst, w.RcWriteMiddle, w.RcWriteLastWithImm, w.RcWriteOnlyWithImm);
}
const place = {
	first: 0,
	middle: 1,
	last: 2,
	only: 3
};
const ucBase = 32;
/** A backlog of so many requests, or bytes, is sent without waiting for more. */
const worthSending = {
	requests: 48,
	bytes: 49152
};
var Requester = class {
	#state;
	#i32;
	#f64;
	#u8;
	#queue;
	/** Of the last packet. */
	#sentBytes = 0;
	constructor(state, queue) {
		this.#state = state;
		this.#queue = queue;
		this.#i32 = state.i32;
		this.#f64 = state.f64;
		this.#u8 = state.u8;
	}
	/** The state that a QP starts with in RTS. */
	#begin(q, t) {
		const i32 = this.#i32;
		i32[t + TransportQp.txIndex] = i32[q + Qp$16.sqNext];
		i32[t + TransportQp.freshIndex] = i32[q + Qp$16.sqNext];
		const psn = i32[q + Qp$16.sqPsn];
		i32[t + TransportQp.txPsn] = psn;
		i32[t + TransportQp.newPsn] = psn;
		i32[t + TransportQp.una] = psn;
		i32[t + TransportQp.lastAckReq] = psnAdd(psn, -1);
		this.#queue.restartCounts(q, t);
		this.#queue.recovery.begin(t);
		i32[t + TransportQp.ready] = i32[t + TransportQp.ready] | begun.requester;
	}
	/** Whether what is still to be sent is little, and the last request of it one packet. */
	hasShortBacklog(q) {
		const i32 = this.#i32;
		const head = i32[q + Qp$16.sqHead];
		const waiting = head - i32[this.#state.of(q) + TransportQp.txIndex] | 0;
		if (waiting >= worthSending.requests) return false;
		const wqe = this.#queue.wqe(q, head - 1);
		if ((i32[wqe + Wqe$7.flags] & SendFlag.Inline) !== 0) return true;
		const length = i32[wqe + Wqe$7.data + Sg$3.length];
		return i32[wqe + Wqe$7.sges] <= 1 && length <= i32[q + Qp$16.pathMtu] && waiting * length < worthSending.bytes;
	}
	/** Sends up to `budget` packets of a QP; true if it stopped for the budget or for lack of room. */
	transmit(q, nowNs, sink, budget) {
		const i32 = this.#i32;
		const state = this.#state;
		const t = state.of(q);
		const qpState = i32[q + Qp$16.state];
		if (qpState === QpState.Err || qpState === QpState.Sqe) {
			state.flush(q);
			return false;
		}
		if (qpState !== QpState.Rts && qpState !== QpState.Sqd) return false;
		if ((i32[t + TransportQp.ready] & begun.requester) === 0) this.#begin(q, t);
		const { congestion, timers } = state;
		const head = Atomics.load(i32, q + Qp$16.sqHead);
		const rc = i32[q + Qp$16.type] === QpType.RC;
		const asked = this.#queue.expectsAck(t);
		let sent = 0;
		let more = false;
		let pacedNs = nowNs;
		for (;;) {
			if (timers.rnrRuns(t)) break;
			const index = i32[t + TransportQp.txIndex];
			if (qpState === QpState.Sqd && (index - i32[q + Qp$16.sqDrainAt] | 0) >= 0) break;
			if (index === head) break;
			if (sent >= budget) {
				more = true;
				break;
			}
			const wqe = this.#queue.wqe(q, index);
			if (index === i32[t + TransportQp.freshIndex]) {
				if (i32[t + TransportQp.localError] !== 0 || !this.#prepare(q, t, wqe, index)) break;
				if (i32[wqe + SendProgress.settled] === 1) {
					i32[t + TransportQp.txIndex] = index + 1 | 0;
					this.#queue.completeReady(q, t);
					continue;
				}
			} else if (i32[wqe + SendProgress.settled] === 1) {
				i32[t + TransportQp.txIndex] = index + 1 | 0;
				continue;
			}
			if (congestion !== null) {
				pacedNs = congestion.nextNs(t, nowNs);
				if (pacedNs > nowNs) break;
			}
			const packetCount = this.#packet(q, t, wqe, rc, sink, nowNs);
			more = packetCount < 0;
			if (packetCount <= 0) break;
			sent++;
			congestion?.sent(t, this.#sentBytes, nowNs);
			const psn = psnAdd(i32[t + TransportQp.txPsn], packetCount);
			if (psnDiff(psn, i32[t + TransportQp.newPsn]) > 0) i32[t + TransportQp.newPsn] = psn;
			else state.count(state.counters.retransmitted_pkts);
			i32[t + TransportQp.txPsn] = psn;
			if (psnDiff(psn, i32[wqe + SendProgress.lastPsn]) > 0) {
				i32[t + TransportQp.txIndex] = index + 1 | 0;
				if (!rc) {
					i32[t + TransportQp.una] = psn;
					this.#queue.completeReady(q, t);
				}
			}
		}
		if (sent > 0 && rc) {
			if (!timers.ackTimeoutRuns(t)) this.#queue.armAckTimeout(q, t, nowNs);
			else if (!asked && this.#queue.expectsAck(t)) this.#queue.armEarly(q, t, nowNs);
		}
		if (pacedNs > nowNs) timers.armPace(q, t, pacedNs);
		else if (congestion !== null) timers.cancelPace(t);
		if (qpState === QpState.Sqd) state.host.drained(q);
		return more;
	}
	/** The first look at a request; false if it has to wait, or cannot be sent at all (`localError`). */
	#prepare(q, t, wqe, index) {
		const i32 = this.#i32;
		const opcode = i32[wqe + Wqe$7.opcode];
		const alone = i32[q + Qp$16.sqNext] === index;
		if ((i32[wqe + Wqe$7.flags] & SendFlag.Fence) !== 0 && i32[t + TransportQp.readsOut] > 0) return false;
		if (opcode === Opcode.LocalInv || opcode === Opcode.BindMw) {
			if (opcode === Opcode.LocalInv && !alone) return false;
			const { host } = this.#state;
			this.#state.beginWindow(q, index);
			const status = opcode === Opcode.BindMw ? bind(host, q, wqe) : localInvalidate(host, q, wqe);
			if (status !== WcStatus.Success) return this.#failInTurn(q, t, status, alone);
			i32[wqe + SendProgress.settled] = 1;
			i32[t + TransportQp.freshIndex] = index + 1 | 0;
			this.#state.end();
			return true;
		}
		const answered = hasResponse(opcode);
		const rc = i32[q + Qp$16.type] === QpType.RC;
		if (!rc && (answered || opcode === Opcode.SendWithInv)) return this.#failInTurn(q, t, WcStatus.LocQpOpErr, alone);
		if (answered && i32[q + Qp$16.maxRdAtomic] === 0) return this.#failInTurn(q, t, WcStatus.LocQpOpErr, alone);
		let length = 0;
		if (opcode !== Opcode.Flush) {
			const fills = answered && opcode !== Opcode.AtomicWrite;
			length = this.#state.buffers.gather(i32[q + Qp$16.pd], wqe, fills ? 1 : 0);
			if (length < 0) return this.#failInTurn(q, t, WcStatus.LocProtErr, alone);
			if (answered && opcode !== Opcode.Read ? length !== 8 : length > maxMessageBytes) return this.#failInTurn(q, t, WcStatus.LocLenErr, alone);
		}
		const count = answered && opcode !== Opcode.Read ? 1 : Math.max(1, Math.ceil(length / i32[q + Qp$16.pathMtu]));
		if (rc && psnDiff(i32[t + TransportQp.newPsn], i32[t + TransportQp.una]) + count > mostPsns) return false;
		i32[wqe + SendProgress.settled] = 0;
		i32[wqe + SendProgress.firstPsn] = i32[t + TransportQp.newPsn];
		i32[wqe + SendProgress.lastPsn] = psnAdd(i32[t + TransportQp.newPsn], count - 1);
		this.#f64[wqe + SendProgress.length >> 1] = length;
		const chunks = opcode === Opcode.Read ? Math.ceil(count / this.#queue.chunkPackets(i32[q + Qp$16.pathMtu])) : 1;
		i32[wqe + SendProgress.ssn] = psnAdd(i32[t + TransportQp.ssn], chunks);
		i32[t + TransportQp.freshIndex] = index + 1 | 0;
		i32[t + TransportQp.ssn] = i32[wqe + SendProgress.ssn];
		return true;
	}
	/** A request that fails here does so in its turn, after those before it. */
	#failInTurn(q, t, status, alone) {
		this.#i32[t + TransportQp.localError] = status;
		if (alone) this.#queue.failLocally(q, t);
		return false;
	}
	/**
	* Writes the next packet of the request at `wqe`: how many PSNs it takes, 0 if it has to wait for an acknowledgement or a
	* response, −1 if there is no room for it now.
	*/
	#packet(q, t, wqe, rc, sink, nowNs) {
		const i32 = this.#i32;
		const opcode = i32[wqe + Wqe$7.opcode];
		const mtu = i32[q + Qp$16.pathMtu];
		const psn = i32[t + TransportQp.txPsn];
		const inFlight = psnDiff(psn, i32[t + TransportQp.una]);
		const window = this.#queue.recovery.window(t, this.#queue.window(mtu));
		if (rc && hasResponse(opcode)) {
			if (i32[t + TransportQp.readsOut] >= i32[q + Qp$16.maxRdAtomic]) return 0;
			const count = opcode === Opcode.Read ? this.#readPackets(wqe, mtu, psn) : 1;
			if (inFlight > 0 && inFlight + count > window) return 0;
			const taken = this.#requestWithResponse(q, t, wqe, opcode, mtu, psn, count, sink);
			if (taken > 0) {
				i32[t + TransportQp.readsOut] = i32[t + TransportQp.readsOut] + 1;
				if (psn === i32[t + TransportQp.newPsn]) this.#queue.recovery.sent(t, psn, nowNs);
			}
			return taken;
		}
		if (rc && (inFlight >= window || lacksCredit(i32, t, wqe))) return 0;
		const length = this.#f64[wqe + SendProgress.length >> 1];
		const number = psnDiff(psn, i32[wqe + SendProgress.firstPsn]);
		const offset = number * mtu;
		const bytes = Math.min(mtu, length - offset);
		const last = psn === i32[wqe + SendProgress.lastPsn];
		const where = last ? number === 0 ? place.only : place.last : number === 0 ? place.first : place.middle;
		const wire = packets[opcode * 4 + where] + (rc ? 0 : ucBase);
		const header = headerLength[wire];
		const pad = -bytes & 3;
		const at = sink.open(q + Qp$16.av, header + bytes + pad);
		if (at < 0) return -1;
		const u8 = this.#u8;
		let ackReq = last;
		if (rc) {
			if (!last) ackReq = psnDiff(psn, i32[t + TransportQp.lastAckReq]) >= window >> 2 || inFlight + 1 === window || number === 0 && isLimited(i32, t, wqe);
			if (ackReq) {
				i32[t + TransportQp.lastAckReq] = psn;
				if (psn === i32[t + TransportQp.newPsn]) this.#queue.recovery.sent(t, psn, nowNs);
			}
		} else ackReq = false;
		putBth(u8, at, wire, (last && (i32[wqe + Wqe$7.flags] & SendFlag.Solicited) !== 0 && opcode !== Opcode.Write ? BthFlag.solicited : 0) | pad << BthFlag.padShift, i32[q + Qp$16.destQpNum], ackReq, psn);
		let extension = at + Bth.length;
		if ((opcodeBits[wire] & OpBit.Reth) !== 0) {
			this.#reth(extension, wqe, 0, length);
			extension += Reth.length;
		}
		if ((opcodeBits[wire] & (OpBit.Imm | OpBit.Ieth)) !== 0) {
			put32(u8, extension, i32[wqe + Wqe$7.immData]);
			extension += 4;
		}
		if (!this.#state.buffers.read(i32[q + Qp$16.pd], wqe, offset, bytes, extension)) return this.#regionGone(q, t);
		for (let i = 0; i < pad; i++) u8[extension + bytes + i] = 0;
		sink.close(header + bytes + pad);
		this.#sentBytes = header + bytes + pad;
		if (number === 0 && psn === i32[t + TransportQp.newPsn]) this.#state.count(this.#state.counters.rdma_sends);
		return 1;
	}
	/** The memory of the request at `txIndex` was deregistered after it had been posted. What is in the room is not sent. */
	#regionGone(q, t) {
		const i32 = this.#i32;
		i32[t + TransportQp.freshIndex] = i32[t + TransportQp.txIndex];
		i32[t + TransportQp.localError] = WcStatus.LocProtErr;
		if (i32[q + Qp$16.sqNext] === i32[t + TransportQp.txIndex]) this.#queue.failLocally(q, t);
		return 0;
	}
	#reth(extension, wqe, offset, length) {
		const u8 = this.#u8;
		put64(u8, extension + Reth.va, this.#f64[wqe + Wqe$7.remoteAddr >> 1] + offset);
		put32(u8, extension + Reth.rkey, this.#i32[wqe + Wqe$7.rkey]);
		put32(u8, extension + Reth.dmaLength, length);
	}
	/** Packets of the response that the next request of a READ asks for: from `psn` to the end of its chunk. */
	#readPackets(wqe, mtu, psn) {
		const i32 = this.#i32;
		const chunk = this.#queue.chunkPackets(mtu);
		const number = psnDiff(psn, i32[wqe + SendProgress.firstPsn]);
		const left = psnDiff(i32[wqe + SendProgress.lastPsn], psn) + 1;
		return Math.min(left, chunk - number % chunk);
	}
	/** READ, atomic, ATOMIC_WRITE or FLUSH, which takes `count` PSNs; returns as `#packet` does. */
	#requestWithResponse(q, t, wqe, opcode, mtu, psn, count, sink) {
		const i32 = this.#i32;
		const u8 = this.#u8;
		const destQp = i32[q + Qp$16.destQpNum];
		const wire = opcode === Opcode.Read ? WireOpcode.RcReadRequest : opcode === Opcode.AtomicCmpAndSwp ? WireOpcode.RcCompareSwap : opcode === Opcode.AtomicFetchAndAdd ? WireOpcode.RcFetchAdd : opcode === Opcode.Flush ? WireOpcode.RcFlush : WireOpcode.RcAtomicWrite;
		const header = headerLength[wire];
		const size = opcode === Opcode.AtomicWrite ? header + 8 : header;
		const at = sink.open(q + Qp$16.av, size);
		if (at < 0) return -1;
		putBth(u8, at, wire, 0, destQp, true, psn);
		const extension = at + Bth.length;
		if (opcode === Opcode.Read) {
			const offset = psnDiff(psn, i32[wqe + SendProgress.firstPsn]) * mtu;
			this.#reth(extension, wqe, offset, Math.min(count * mtu, this.#f64[wqe + SendProgress.length >> 1] - offset));
		} else if (opcode === Opcode.Flush) {
			put32(u8, extension, i32[wqe + Wqe$7.access]);
			this.#reth(extension + Feth.length, wqe, 0, this.#f64[wqe + Wqe$7.length >> 1]);
		} else if (opcode === Opcode.AtomicWrite) {
			this.#reth(extension, wqe, 0, 8);
			if (!this.#state.buffers.read(i32[q + Qp$16.pd], wqe, 0, 8, at + header)) return this.#regionGone(q, t);
		} else {
			put64(u8, extension + AtomicEth.va, this.#f64[wqe + Wqe$7.remoteAddr >> 1]);
			put32(u8, extension + AtomicEth.rkey, i32[wqe + Wqe$7.rkey]);
			const swap = opcode === Opcode.AtomicCmpAndSwp;
			this.#operand(extension + AtomicEth.swapAdd, wqe + (swap ? Wqe$7.swap : Wqe$7.compareAdd));
			if (swap) this.#operand(extension + AtomicEth.compare, wqe + Wqe$7.compareAdd);
			else u8.fill(0, extension + AtomicEth.compare, extension + AtomicEth.length);
		}
		sink.close(size);
		this.#sentBytes = size;
		if (psn === i32[wqe + SendProgress.firstPsn] && psn === i32[t + TransportQp.newPsn]) this.#state.count(this.#state.counters.rdma_sends);
		return count;
	}
	/** A 64-bit operand from two words of the queue. */
	#operand(at, word) {
		put32(this.#u8, at, this.#i32[word + 1]);
		put32(this.#u8, at + 4, this.#i32[word]);
	}
};
// src/transport/responder.ts
/**
* The responder of RC and UC: takes packets in the order of their PSNs, puts what SENDs and WRITEs carry into memory, and
* completes receives.
*
*     RC   expected PSN   executed; ACK when asked for
*          ahead          one NAK, then silence until the expected one comes, or what was ahead comes again
*          behind         a duplicate: acknowledged again, or its response is sent again
*     UC   a gap ends the message that was arriving; the next first or only packet starts another one
*
* Requests that are answered with a response are in responses.ts, ACKs and NAKs in acknowledgements.ts.
*
* InfiniBand Architecture volume 1, 9.7.4 and 9.8.
*/
const { Qp: Qp$15 } = layout_exports;
/** What kind of message is arriving. */
const kind = {
	none: 0,
	send: 1,
	write: 2
};
/** In place of a syndrome: a message of UC was dropped, and counted. */
const dropped = -1;
var Responder = class {
	#state;
	#acks;
	#responses;
	#i32;
	#f64;
	#u8;
	/** True if the last packet completed a receive, so that its ACK can wait for what the program sends in reply. */
	completed = false;
	constructor(state, acks, responses) {
		this.#state = state;
		this.#acks = acks;
		this.#responses = responses;
		this.#i32 = state.i32;
		this.#f64 = state.f64;
		this.#u8 = state.u8;
	}
	#begin(q, t) {
		const i32 = this.#i32;
		i32[t + TransportQp.epsn] = i32[q + Qp$15.rqPsn];
		i32[t + TransportQp.plainPsn] = psnAdd(i32[q + Qp$15.rqPsn], -1);
		i32[t + TransportQp.ready] = i32[t + TransportQp.ready] | begun.responder;
	}
	/** A request packet for `q`: [at, end) from BTH to the end of the pad. */
	receive(q, op, at, end, psn, sink) {
		const i32 = this.#i32;
		const state = this.#state;
		const t = state.of(q);
		this.completed = false;
		if ((i32[t + TransportQp.ready] & begun.responder) === 0) this.#begin(q, t);
		const u8 = this.#u8;
		const bits = opcodeBits[op];
		const pad = padOf(u8, at);
		const bytes = end - at - headerLength[op] - pad;
		const ahead = psnDiff(psn, i32[t + TransportQp.epsn]);
		if (i32[q + Qp$15.type] === QpType.UC) {
			state.beginPacket(q, t);
			this.#unreliable(q, t, op, bits, at, bytes, psn, ahead);
			state.end();
			return;
		}
		if (ahead > 0) {
			state.count(state.counters.out_of_seq_request);
			const again = i32[t + TransportQp.nakDue] === 0 && psnDiff(psn, i32[t + TransportQp.nakAhead]) <= 0;
			if (i32[t + TransportQp.nakSent] !== 0 && !again) state.count(state.counters.drops_nak_pending);
			else {
				this.#acks.reject(q, t, Syndrome.PsnSequence, i32[t + TransportQp.epsn], sink);
				i32[t + TransportQp.nakAhead] = psn;
			}
			return;
		}
		if (ahead < 0) {
			state.count(state.counters.duplicate_request);
			if ((bits & (OpBit.Send | OpBit.Write)) !== 0) this.#acks.due(q, t);
			else this.#responses.repeat(q, t, bits, at, psn);
			return;
		}
		i32[t + TransportQp.nakSent] = 0;
		i32[t + TransportQp.nakDue] = 0;
		state.beginPacket(q, t);
		const syndrome = this.#execute(q, t, op, bits, at, bytes, psn);
		state.end();
		if (syndrome !== 0) {
			this.#acks.reject(q, t, syndrome, psn, sink);
			i32[t + TransportQp.nakAhead] = psn;
			return;
		}
		if ((bits & (OpBit.Send | OpBit.Write)) === 0) return;
		if ((u8[at + Bth.ackReq] & 128) !== 0) this.#acks.due(q, t);
	}
	/** Executes the packet with the expected PSN; 0, the syndrome of the NAK that it earns, or of UC `dropped`. */
	#execute(q, t, op, bits, at, bytes, psn) {
		if ((bits & OpBit.Send) !== 0) return this.#send(q, t, op, bits, at, bytes);
		if ((bits & OpBit.Write) !== 0) return this.#write(q, t, op, bits, at, bytes);
		if (this.#i32[t + TransportQp.rxKind] !== kind.none) return this.#acks.invalid(q);
		return this.#responses.execute(q, t, op, bits, at, bytes, psn);
	}
	/** Whether opcode and payload fit the message that is arriving: the order of packets, and full ones but the last. */
	#inOrder(t, q, bits, what, bytes) {
		const i32 = this.#i32;
		const mtu = i32[q + Qp$15.pathMtu];
		const begins = (bits & (OpBit.First | OpBit.Only)) !== 0;
		if (i32[t + TransportQp.rxKind] !== (begins ? kind.none : what)) return false;
		if ((bits & (OpBit.First | OpBit.Middle)) !== 0) return bytes === mtu;
		return bytes <= mtu && ((bits & OpBit.Only) !== 0 || bytes > 0);
	}
	/** The packet of a SEND or WRITE has the PSN that was expected, and is in memory. */
	#taken(t) {
		const i32 = this.#i32;
		const psn = i32[t + TransportQp.epsn];
		i32[t + TransportQp.plainPsn] = psn;
		i32[t + TransportQp.epsn] = psnAdd(psn, 1);
	}
	#executed(t) {
		this.#i32[t + TransportQp.rxKind] = kind.none;
		this.#acks.executed(t);
	}
	#send(q, t, op, bits, at, bytes) {
		const i32 = this.#i32;
		const f64 = this.#f64;
		const state = this.#state;
		if (!this.#inOrder(t, q, bits, kind.send, bytes)) return this.#acks.invalid(q);
		const begins = (bits & (OpBit.First | OpBit.Only)) !== 0;
		const ends = (bits & (OpBit.Last | OpBit.Only)) !== 0;
		const rc = i32[q + Qp$15.type] === QpType.RC;
		let window = -1;
		if ((bits & OpBit.Ieth) !== 0) {
			const rkey = u32(this.#u8, at + Bth.length) | 0;
			window = invalidable(state.host, q, rkey);
			if (window < 0 && i32[t + TransportQp.invalidated] !== rkey) return this.#acks.forbidden(q);
		}
		let receive = i32[t + TransportQp.receive];
		let offset = 0;
		if (begins) {
			if (receive === 0) receive = state.takeReceive(q, 0);
			if (receive === -1) {
				if (!rc) state.count(state.counters.uc_drops_no_receive);
				return AethKind.RnrNak | i32[q + Qp$15.minRnrTimer];
			}
		} else offset = f64[t + TransportQp.rxBytes >> 1];
		const status = state.buffers.scatter(state.receivePd(q), receive, offset, bytes, at + headerLength[op]);
		if (status === WcStatus.LocLenErr && !rc) {
			i32[t + TransportQp.receive] = receive;
			state.count(state.counters.uc_drops_length);
			return dropped;
		}
		if (status !== WcStatus.Success) {
			i32[t + TransportQp.receive] = 0;
			i32[t + TransportQp.rxKind] = kind.none;
			state.failReceive(q, receive, status, 0);
			return status === WcStatus.LocLenErr ? Syndrome.InvalidRequest : Syndrome.RemoteOperational;
		}
		this.#taken(t);
		if (!ends) {
			i32[t + TransportQp.rxKind] = kind.send;
			i32[t + TransportQp.receive] = receive;
			f64[t + TransportQp.rxBytes >> 1] = offset + bytes;
			return 0;
		}
		let flags = 0;
		let data = 0;
		if ((bits & (OpBit.Imm | OpBit.Ieth)) !== 0) {
			data = u32(this.#u8, at + Bth.length) | 0;
			flags = (bits & OpBit.Ieth) !== 0 ? WcFlag.WithInv : WcFlag.WithImm;
			if (window >= 0) {
				i32[t + TransportQp.invalidated] = data;
				state.beginInvalidate(window);
				unbindWindow(state.host, window);
			}
		}
		const syndrome = this.#complete(q, t, receive, WcOpcode.Recv, flags, offset + bytes, data, at);
		if ((bits & OpBit.Ieth) !== 0) i32[t + TransportQp.invalidated] = 0;
		return syndrome;
	}
	/** The message is whole: its receive completes. */
	#complete(q, t, receive, opcode, flags, bytes, data, at) {
		const state = this.#state;
		this.#executed(t);
		this.#i32[t + TransportQp.receive] = 0;
		this.completed = true;
		const solicited = (this.#u8[at + Bth.flags] & BthFlag.solicited) !== 0;
		if (state.completeReceive(q, receive, WcStatus.Success, opcode, flags, bytes, data, 0, solicited)) return 0;
		this.#i32[t + TransportQp.ackDue] = 0;
		state.overran(q);
		return Syndrome.RemoteOperational;
	}
	#write(q, t, op, bits, at, bytes) {
		const i32 = this.#i32;
		const f64 = this.#f64;
		const state = this.#state;
		const u8 = this.#u8;
		if (!this.#inOrder(t, q, bits, kind.write, bytes)) return this.#acks.invalid(q);
		const ends = (bits & (OpBit.Last | OpBit.Only)) !== 0;
		let extension = at + Bth.length;
		const pd = i32[q + Qp$15.pd];
		let va = f64[t + TransportQp.va >> 1];
		let left = f64[t + TransportQp.remaining >> 1];
		let total = f64[t + TransportQp.rxBytes >> 1];
		let rkey = i32[t + TransportQp.rkey];
		if ((bits & OpBit.Reth) !== 0) {
			if ((i32[q + Qp$15.accessFlags] & Access.RemoteWrite) === 0) return this.#acks.invalid(q);
			va = get64(u8, extension + Reth.va);
			rkey = u32(u8, extension + Reth.rkey) | 0;
			left = u32(u8, extension + Reth.dmaLength);
			total = left;
			if (left > maxMessageBytes) return this.#acks.invalid(q);
			if (left > 0 && state.buffers.resolve(rkey, pd, va, left, Access.RemoteWrite, state.host.qpSlot(q)) < 0) return this.#acks.forbidden(q);
			extension += Reth.length;
		}
		if (ends ? bytes !== left : bytes >= left) return this.#acks.invalid(q);
		let to = 0;
		if (bytes > 0) {
			to = state.buffers.resolve(rkey, pd, va, bytes, Access.RemoteWrite, state.host.qpSlot(q));
			if (to < 0) return this.#acks.forbidden(q);
		}
		let receive = 0;
		if ((bits & OpBit.Imm) !== 0) {
			receive = i32[t + TransportQp.receive] || state.takeReceive(q, 0);
			if (receive === -1) {
				if (i32[q + Qp$15.type] !== QpType.RC) state.count(state.counters.uc_drops_no_receive);
				return AethKind.RnrNak | i32[q + Qp$15.minRnrTimer];
			}
		}
		if (bytes > 0) state.host.segment.copyOrdered(to, at + headerLength[op], bytes);
		this.#taken(t);
		if (!ends) {
			i32[t + TransportQp.rxKind] = kind.write;
			f64[t + TransportQp.va >> 1] = va + bytes;
			f64[t + TransportQp.remaining >> 1] = left - bytes;
			f64[t + TransportQp.rxBytes >> 1] = total;
			i32[t + TransportQp.rkey] = rkey;
			return 0;
		}
		if (receive === 0) {
			this.#executed(t);
			return 0;
		}
		const data = u32(u8, extension) | 0;
		return this.#complete(q, t, receive, WcOpcode.RecvRdmaWithImm, WcFlag.WithImm, total, data, at);
	}
	#unreliable(q, t, op, bits, at, bytes, psn, ahead) {
		const i32 = this.#i32;
		const state = this.#state;
		const begins = (bits & (OpBit.First | OpBit.Only)) !== 0;
		if (ahead !== 0) {
			state.count(state.counters.out_of_seq_request);
			i32[t + TransportQp.dropRest] = 1;
		}
		i32[t + TransportQp.epsn] = psn;
		if (begins) {
			i32[t + TransportQp.dropRest] = 0;
			i32[t + TransportQp.rxKind] = kind.none;
		}
		if (i32[t + TransportQp.dropRest] !== 0) {
			state.count(state.counters.drops_uc_sequence);
			i32[t + TransportQp.rxKind] = kind.none;
			i32[t + TransportQp.epsn] = psnAdd(psn, 1);
			return;
		}
		const syndrome = (bits & (OpBit.Send | OpBit.Write)) !== 0 ? this.#execute(q, t, op, bits, at, bytes, psn) : Syndrome.InvalidRequest;
		if (syndrome === 0) return;
		if (syndrome === Syndrome.RemoteAccess || syndrome === Syndrome.InvalidRequest) state.count(state.counters.uc_drops_access);
		i32[t + TransportQp.dropRest] = 1;
		i32[t + TransportQp.rxKind] = kind.none;
		i32[t + TransportQp.epsn] = psnAdd(psn, 1);
	}
};
// src/transport/responses.ts
/**
* READ, atomics, ATOMIC_WRITE and FLUSH at the responder of RC: requests that are answered with a response.
*
* Each has an entry in a ring of resources, from its arrival until more have followed than the peer may have outstanding: its
* response is sent from there, a duplicate is looked up there. Atomics are executed once, and their entry keeps the
* result; a READ is executed as its response is sent, and again for each duplicate.
*
*     resNext ── first whose response is still to be sent │ resTail ── next free entry
*
* InfiniBand Architecture volume 1, 9.7.5.1.
*/
const { Key: Key$4, Qp: Qp$14 } = layout_exports;
var Responses = class {
	#state;
	#acks;
	#i32;
	#f64;
	#u8;
	constructor(state, acks) {
		this.#state = state;
		this.#acks = acks;
		this.#i32 = state.i32;
		this.#f64 = state.f64;
		this.#u8 = state.u8;
	}
	/** Executes a request with the expected PSN, unless it is no such request: 0, or the syndrome of the NAK that it earns. */
	execute(q, t, op, bits, at, bytes, psn) {
		if ((bits & OpBit.ReadRequest) !== 0) return this.#read(q, t, at, psn);
		if ((bits & OpBit.Atomic) !== 0) return this.#atomic(q, t, op, at, psn);
		if ((bits & OpBit.AtomicWrite) !== 0) return this.#atomicWrite(q, t, op, at, bytes, psn);
		if ((bits & OpBit.Flush) !== 0) return this.#flush(q, t, at, psn);
		return this.#acks.invalid(q);
	}
	#read(q, t, at, psn) {
		const i32 = this.#i32;
		const f64 = this.#f64;
		const u8 = this.#u8;
		if ((i32[q + Qp$14.accessFlags] & Access.RemoteRead) === 0) return this.#acks.invalid(q);
		const extension = at + Bth.length;
		const va = get64(u8, extension + Reth.va);
		const rkey = u32(u8, extension + Reth.rkey) | 0;
		const length = u32(u8, extension + Reth.dmaLength);
		if (length > maxMessageBytes) return this.#acks.invalid(q);
		const { buffers, host } = this.#state;
		if (length > 0 && buffers.resolve(rkey, i32[q + Qp$14.pd], va, length, Access.RemoteRead, host.qpSlot(q)) < 0) return this.#acks.forbidden(q);
		const count = Math.max(1, Math.ceil(length / i32[q + Qp$14.pathMtu]));
		const resource = this.#newResource(q, t, resourceKind.read, psn, count);
		if (resource < 0) return this.#acks.invalid(q);
		i32[resource + Resource.rkey] = rkey;
		f64[resource + Resource.va >> 1] = va;
		f64[resource + Resource.length >> 1] = length;
		f64[resource + Resource.jobVa >> 1] = va;
		f64[resource + Resource.jobLeft >> 1] = length;
		this.enlist(q, t, resource);
		return 0;
	}
	#atomic(q, t, op, at, psn) {
		const i32 = this.#i32;
		const u8 = this.#u8;
		const state = this.#state;
		const { b64, buffers, host } = state;
		const extension = at + Bth.length;
		const va = get64(u8, extension + AtomicEth.va);
		if ((i32[q + Qp$14.accessFlags] & Access.RemoteAtomic) === 0 || va % 8 !== 0) return this.#acks.invalid(q);
		const rkey = u32(u8, extension + AtomicEth.rkey) | 0;
		const to = buffers.resolve(rkey, i32[q + Qp$14.pd], va, 8, Access.RemoteAtomic, host.qpSlot(q));
		if (to < 0) return this.#acks.forbidden(q);
		if (to % 8 !== 0) return this.#acks.invalid(q);
		const resource = this.#newResource(q, t, resourceKind.atomic, psn, 1);
		if (resource < 0) return this.#acks.invalid(q);
		const operand = get64Big(u8, extension + AtomicEth.swapAdd);
		const compare = BigInt.asIntN(64, get64Big(u8, extension + AtomicEth.compare));
		const target = to / 8;
		for (;;) {
			const found = Atomics.load(b64, target);
			const value = op !== WireOpcode.RcCompareSwap ? found + operand : found === compare ? operand : found;
			b64[resource + Resource.va >> 1] = found;
			state.beginAtomic(target, value);
			if (Atomics.compareExchange(b64, target, found, value) === found) break;
		}
		this.enlist(q, t, resource);
		return 0;
	}
	#atomicWrite(q, t, op, at, bytes, psn) {
		const i32 = this.#i32;
		const u8 = this.#u8;
		const { b64, buffers, host } = this.#state;
		const extension = at + Bth.length;
		const va = get64(u8, extension + Reth.va);
		if ((i32[q + Qp$14.accessFlags] & Access.RemoteWrite) === 0 || va % 8 !== 0 || bytes !== 8 || u32(u8, extension + Reth.dmaLength) !== 8) return this.#acks.invalid(q);
		const rkey = u32(u8, extension + Reth.rkey) | 0;
		const to = buffers.resolve(rkey, i32[q + Qp$14.pd], va, 8, Access.RemoteWrite, host.qpSlot(q));
		if (to < 0) return this.#acks.forbidden(q);
		if (to % 8 !== 0) return this.#acks.invalid(q);
		const resource = this.#newResource(q, t, resourceKind.plain, psn, 1);
		if (resource < 0) return this.#acks.invalid(q);
		const from = at + headerLength[op];
		host.segment.copy((resource + Resource.va) * 4, from, 8);
		Atomics.store(b64, to / 8, b64[resource + Resource.va >> 1]);
		this.enlist(q, t, resource);
		return 0;
	}
	#flush(q, t, at, psn) {
		const i32 = this.#i32;
		const f64 = this.#f64;
		const u8 = this.#u8;
		const { buffers, host } = this.#state;
		const type = u8[at + Bth.length + Feth.type];
		const extension = at + Bth.length + Feth.length;
		const needs = ((type & FlushPlacement.Global) !== 0 ? Access.FlushGlobal : 0) | ((type & FlushPlacement.Persistent) !== 0 ? Access.FlushPersistent : 0);
		if ((i32[q + Qp$14.accessFlags] & needs) !== needs || needs === 0) return this.#acks.invalid(q);
		const rkey = u32(u8, extension + Reth.rkey) | 0;
		let va = get64(u8, extension + Reth.va);
		let length = u32(u8, extension + Reth.dmaLength);
		if ((type & Feth.selectivityBits) !== 0) {
			const entry = host.findKey(rkey);
			if (entry >= 0) va = f64[entry + Key$4.iova >> 1];
			length = 0;
		}
		if (buffers.resolve(rkey, i32[q + Qp$14.pd], va, length, needs, host.qpSlot(q)) < 0) return this.#acks.forbidden(q);
		const resource = this.#newResource(q, t, resourceKind.plain, psn, 1);
		if (resource < 0) return this.#acks.invalid(q);
		Atomics.add(i32, t + TransportQp.msn, 0);
		this.enlist(q, t, resource);
		return 0;
	}
	/** First word of the entry with this index. */
	#resource(t, index) {
		return t + TransportQp.resources + (index & 63) * Resource.words;
	}
	/** The entry that `newResource` has given last. */
	newest(t) {
		return this.#resource(t, this.#i32[t + TransportQp.resTail]);
	}
	/** An entry for one more request; −1 if the peer has more outstanding than was agreed. */
	#newResource(q, t, what, psn, count) {
		const i32 = this.#i32;
		const agreed = Math.min(64, i32[q + Qp$14.maxDestRdAtomic]);
		while ((i32[t + TransportQp.resTail] - i32[t + TransportQp.resNext] | 0) >= agreed) {
			if (agreed === 0 || i32[this.#resource(t, i32[t + TransportQp.resNext]) + Resource.answered] === 0) return -1;
			i32[t + TransportQp.resNext] = i32[t + TransportQp.resNext] + 1 | 0;
		}
		const resource = this.#resource(t, i32[t + TransportQp.resTail]);
		i32[resource + Resource.operation] = what;
		i32[resource + Resource.first] = psn;
		i32[resource + Resource.last] = psnAdd(psn, count - 1);
		i32[resource + Resource.next] = psn;
		i32[resource + Resource.end] = i32[resource + Resource.last];
		i32[resource + Resource.begun] = 0;
		i32[resource + Resource.answered] = 0;
		return resource;
	}
	/** The entry is complete: its response is sent in its turn. */
	enlist(q, t, resource) {
		const i32 = this.#i32;
		i32[t + TransportQp.resTail] = i32[t + TransportQp.resTail] + 1 | 0;
		i32[t + TransportQp.epsn] = psnAdd(i32[resource + Resource.last], 1);
		i32[t + TransportQp.ackDue] = 0;
		this.#acks.executed(t);
		this.#state.schedule(q);
	}
	/** A request that was executed before, or the rest of one: its response is sent again from `psn` on, if it is still known. */
	repeat(q, t, bits, at, psn) {
		const i32 = this.#i32;
		const state = this.#state;
		const kept = Math.min(64, i32[q + Qp$14.maxDestRdAtomic]);
		for (let back = 1; back <= kept; back++) {
			const index = i32[t + TransportQp.resTail] - back | 0;
			const resource = this.#resource(t, index);
			if (i32[resource + Resource.operation] === resourceKind.none) break;
			if (psnDiff(psn, i32[resource + Resource.first]) < 0 || psnDiff(psn, i32[resource + Resource.last]) > 0) continue;
			if (!this.#again(q, resource, bits, at, psn)) break;
			i32[resource + Resource.next] = psn;
			i32[resource + Resource.begun] = 0;
			if ((index - i32[t + TransportQp.resNext] | 0) < 0) i32[t + TransportQp.resNext] = index;
			state.schedule(q);
			return;
		}
		state.count(state.counters.drops_duplicate_unknown);
	}
	/** Whether the duplicate asks for (a part of) what the entry `resource` was; then that is set to be sent. */
	#again(q, resource, bits, at, psn) {
		const i32 = this.#i32;
		const f64 = this.#f64;
		const u8 = this.#u8;
		const what = i32[resource + Resource.operation];
		if ((bits & OpBit.ReadRequest) === 0) {
			if (what !== ((bits & OpBit.Atomic) !== 0 ? resourceKind.atomic : resourceKind.plain)) return false;
			i32[resource + Resource.end] = i32[resource + Resource.last];
			return true;
		}
		if (what !== resourceKind.read) return false;
		const extension = at + Bth.length;
		const va = get64(u8, extension + Reth.va);
		const length = u32(u8, extension + Reth.dmaLength);
		const low = f64[resource + Resource.va >> 1];
		const high = low + f64[resource + Resource.length >> 1];
		if (length > 0 && (va < low || va + length > high || (u32(u8, extension + Reth.rkey) | 0) !== i32[resource + Resource.rkey])) return false;
		const end = psnAdd(psn, Math.max(1, Math.ceil(length / i32[q + Qp$14.pathMtu])) - 1);
		if (psnDiff(end, i32[resource + Resource.last]) > 0) return false;
		i32[resource + Resource.end] = end;
		f64[resource + Resource.jobVa >> 1] = va;
		f64[resource + Resource.jobLeft >> 1] = length;
		return true;
	}
	/** The thread that was sending responses was killed: those that were still to be sent are sent from their beginning. */
	restart(t) {
		const i32 = this.#i32;
		const f64 = this.#f64;
		const tail = i32[t + TransportQp.resTail];
		for (let back = 1; back <= 64; back++) {
			const index = tail - back | 0;
			const resource = this.#resource(t, index);
			if (i32[resource + Resource.operation] === resourceKind.none) continue;
			const last = i32[resource + Resource.last];
			const due = (index - i32[t + TransportQp.resNext] | 0) >= 0;
			i32[resource + Resource.next] = due ? i32[resource + Resource.first] : psnAdd(last, 1);
			i32[resource + Resource.end] = last;
			i32[resource + Resource.begun] = 0;
			if (due) i32[resource + Resource.answered] = 1;
			if (i32[resource + Resource.operation] !== resourceKind.read) continue;
			f64[resource + Resource.jobVa >> 1] = f64[resource + Resource.va >> 1];
			f64[resource + Resource.jobLeft >> 1] = f64[resource + Resource.length >> 1];
		}
	}
	/** Sends responses and the NAK that are due, at most `budget` packets; how many, −1 if there was no room. */
	send(q, sink, budget) {
		const i32 = this.#i32;
		const t = this.#state.of(q);
		let sent = 0;
		while (i32[t + TransportQp.resNext] !== i32[t + TransportQp.resTail]) {
			const resource = this.#resource(t, i32[t + TransportQp.resNext]);
			while (psnDiff(i32[resource + Resource.next], i32[resource + Resource.end]) <= 0) {
				if (sent >= budget) return sent;
				const bytes = this.#responseBytes(q, resource);
				const from = bytes > 0 ? this.#source(q, resource, bytes) : 0;
				if (from < 0) {
					this.#gone(q, t, resource);
					break;
				}
				if (!this.#sendNext(q, t, resource, from, bytes, sink)) return -1;
				sent++;
			}
			i32[resource + Resource.answered] = 1;
			i32[t + TransportQp.resNext] = i32[t + TransportQp.resNext] + 1 | 0;
		}
		if (i32[t + TransportQp.nakDue] === 0 || sent >= budget) return sent;
		return this.#acks.sendNakDue(q, t, sink) ? sent + 1 : -1;
	}
	/** Bytes of the next response packet for the entry `resource`. */
	#responseBytes(q, resource) {
		if (this.#i32[resource + Resource.operation] !== resourceKind.read) return 0;
		return Math.min(this.#i32[q + Qp$14.pathMtu], this.#f64[resource + Resource.jobLeft >> 1]);
	}
	/** Where the next response to the READ at `resource` is read from; −1 if the peer may not read there any more. */
	#source(q, resource, bytes) {
		const { buffers, host } = this.#state;
		const i32 = this.#i32;
		const va = this.#f64[resource + Resource.jobVa >> 1];
		return buffers.resolve(i32[resource + Resource.rkey], i32[q + Qp$14.pd], va, bytes, Access.RemoteRead, host.qpSlot(q));
	}
	/**
	* The region of a READ was deregistered before its responses were sent. If they had all been sent once, a late duplicate
	* asks for them again, and is dropped: the program may have heard from its peer that the READ is done. Any other READ
	* ends with a NAK in place of the next response, and the QP with it.
	*/
	#gone(q, t, resource) {
		const i32 = this.#i32;
		const psn = i32[resource + Resource.next];
		i32[resource + Resource.end] = psnAdd(psn, -1);
		if (i32[resource + Resource.answered] === 1) {
			this.#state.count(this.#state.counters.drops_duplicate_unknown);
			return;
		}
		i32[t + TransportQp.resNext] = i32[t + TransportQp.resTail] - 1 | 0;
		this.#acks.oweNak(t, Syndrome.RemoteAccess, psn);
		this.#acks.forbidden(q);
	}
	/** Sends the next packet for the entry `resource`, with `bytes` at `from`; false if there was no room. */
	#sendNext(q, t, resource, from, bytes, sink) {
		const i32 = this.#i32;
		const f64 = this.#f64;
		const u8 = this.#u8;
		const state = this.#state;
		const psn = i32[resource + Resource.next];
		let wire = WireOpcode.RcReadResponseOnly;
		const what = i32[resource + Resource.operation];
		if (what === resourceKind.atomic) wire = WireOpcode.RcAtomicAck;
		else if (what === resourceKind.read) {
			const first = i32[resource + Resource.begun] === 0;
			if (f64[resource + Resource.jobLeft >> 1] > bytes) wire = first ? WireOpcode.RcReadResponseFirst : WireOpcode.RcReadResponseMiddle;
			else if (!first) wire = WireOpcode.RcReadResponseLast;
		}
		const header = headerLength[wire];
		const pad = -bytes & 3;
		const at = sink.open(q + Qp$14.av, header + bytes + pad);
		if (at < 0) return false;
		putBth(u8, at, wire, pad << BthFlag.padShift, i32[q + Qp$14.destQpNum], false, psn);
		if (wire !== WireOpcode.RcReadResponseMiddle) {
			u8[at + Bth.length + Aeth.syndrome] = ackSyndrome(i32, q, t);
			put24(u8, at + Bth.length + Aeth.msn, i32[t + TransportQp.msn]);
		}
		if (what === resourceKind.atomic) {
			const extension = at + Bth.length + Aeth.length;
			put32(u8, extension, i32[resource + Resource.va + 1]);
			put32(u8, extension + 4, i32[resource + Resource.va]);
		}
		if (bytes > 0) {
			state.host.segment.copy(at + header, from, bytes);
			for (let i = 0; i < pad; i++) u8[at + header + bytes + i] = 0;
			f64[resource + Resource.jobVa >> 1] = f64[resource + Resource.jobVa >> 1] + bytes;
			f64[resource + Resource.jobLeft >> 1] = f64[resource + Resource.jobLeft >> 1] - bytes;
		}
		sink.close(header + bytes + pad);
		i32[resource + Resource.begun] = 1;
		i32[resource + Resource.next] = psnAdd(psn, 1);
		return true;
	}
};
// src/transport/takeover.ts
/**
* A thread that drives a device may be killed between any two stores. The thread that takes the device's lock over from it brings
* the transport's state into order here, before it does anything else:
*
*     journal      a packet of the peer, a completion, a window, an atomic: what may happen only once is rolled back or finished
*     lists        of QPs and timers are emptied and made anew; doorbells that rang are answered
*     requesters   send again from the oldest packet that is not acknowledged, at the cost of no retry
*     responders   repeat their ACK, and the responses that were still to be sent
*
* Packets that the thread had received and not executed, or had made and not sent, are lost packets, and retransmission repairs
* that. They may cost the peer a retry, as any lost packet: it cannot know who lost it. What remains: a message of UC or UD may be
* lost; an asynchronous event may be lost or, like the event of a CQ, come twice; a request that was failing may end with
* WR_FLUSH_ERR instead of the error. An atomic is executed once as long as only this device changes the word meanwhile
* (`IBV_ATOMIC_HCA`).
*
* All of it may be interrupted as well: whoever takes over next starts again from the beginning.
*/
const { Key: Key$3, Meta: Meta$6, Qp: Qp$13, Srq: Srq$2, Wqe: Wqe$6 } = layout_exports;
var Takeover = class {
	#state;
	#queue;
	#completer;
	#responses;
	#acks;
	constructor(state, queue, completer, responses, acks) {
		this.#state = state;
		this.#queue = queue;
		this.#completer = completer;
		this.#responses = responses;
		this.#acks = acks;
	}
	/** The device's lock was taken over from a dead thread; this one is in an operation. */
	run(nowNs) {
		const state = this.#state;
		const { i32, host } = state;
		state.count(state.counters.takeovers);
		this.#emptyLists();
		this.#finish();
		for (let slot = 0; slot < i32[host.at.meta + Meta$6.qpsUsed]; slot++) {
			const q = host.qpWord(slot);
			if (i32[q + Qp$13.number] === 0 || i32[q + Qp$13.device] !== state.device) continue;
			Atomics.store(i32, q + Qp$13.rung, 0);
			this.#resume(q, nowNs);
			state.schedule(q);
		}
		host.repairEvents(state.device);
	}
	#emptyLists() {
		const { i32, f64, record, host } = this.#state;
		for (const word of [
			"txHead",
			"txTail",
			"ackHead",
			"ackTail",
			"timers"
		]) i32[record + TransportDevice[word]] = 0;
		i32.fill(0, record + TransportDevice.flags, record + TransportDevice.journal);
		f64[record + TransportDevice.nextDeadline >> 1] = Number.POSITIVE_INFINITY;
		const { segment } = host;
		segment.lock(record + TransportDevice.doorbellLock);
		i32[record + TransportDevice.doorbellHead] = i32[record + TransportDevice.doorbellTail];
		segment.unlock(record + TransportDevice.doorbellLock);
	}
	#finish() {
		const state = this.#state;
		const { i32, host, record } = state;
		const journal = record + TransportDevice.journal;
		const stage = i32[journal + Journal.stage];
		const q = stage === journalStage.none ? -1 : journalQp(host, journal);
		if (q >= 0 && i32[q + Qp$13.state] >= QpState.Rtr) {
			const t = state.of(q);
			if (stage === journalStage.packet) this.#undoPacket(q, t);
			else if (stage === journalStage.atomic) this.#atomic(q, t);
			else if (stage === journalStage.window) this.#window(q, t);
			else {
				if (stage === journalStage.receive) {
					i32[t + TransportQp.receive] = 0;
					i32[t + TransportQp.invalidated] = 0;
				}
				if (!finishCompletion(host, journal, q)) state.overran(q);
			}
		}
		state.end();
	}
	/** The peer sends the packet again: it was not acknowledged. */
	#undoPacket(q, t) {
		const { i32, f64, record, host } = this.#state;
		const packet = record + TransportDevice.packet;
		for (const word of [
			"epsn",
			"msn",
			"rxKind",
			"receive",
			"rkey",
			"plainPsn",
			"resTail"
		]) i32[t + TransportQp[word]] = i32[packet + PacketJournal[word]];
		for (const word of [
			"rxBytes",
			"va",
			"remaining"
		]) f64[t + TransportQp[word] >> 1] = f64[packet + PacketJournal[word] >> 1];
		const region = i32[packet + PacketJournal.region];
		if (region !== 0) recountWindows(host, region - 1);
		if (i32[packet + PacketJournal.takes] === 0) return;
		if (i32[host.srqWord(i32[q + Qp$13.srq]) + Srq$2.tail] === i32[packet + PacketJournal.srqTail]) i32[t + TransportQp.receive] = t + TransportQp.srqCopy;
	}
	#atomic(q, t) {
		const { b64, f64, record } = this.#state;
		const packet = record + TransportDevice.packet;
		this.#undoPacket(q, t);
		const resource = this.#responses.newest(t);
		const value = b64[packet + PacketJournal.value >> 1];
		if (b64[resource + Resource.va >> 1] !== value && Atomics.load(b64, f64[packet + PacketJournal.target >> 1]) === value) this.#responses.enlist(q, t, resource);
	}
	/** A LOCAL_INV is done; of a BIND_MW nothing is. */
	#window(q, t) {
		const { i32, host, record } = this.#state;
		const journal = record + TransportDevice.journal;
		const index = i32[journal + Journal.queue];
		const window = i32[journal + Journal.window];
		const key = i32[journal + Journal.windowKey];
		if (i32[t + TransportQp.freshIndex] !== index || i32[window + Key$3.key] >>> 8 !== key >>> 8) return;
		const wqe = this.#queue.wqe(q, index);
		unbindWindow(host, window);
		if (i32[wqe + Wqe$6.opcode] === Opcode.LocalInv) {
			i32[wqe + SendProgress.settled] = 1;
			i32[t + TransportQp.freshIndex] = index + 1 | 0;
		} else i32[window + Key$3.key] = key;
		recountWindows(host, i32[journal + Journal.windowRegion]);
		const region = host.findKey(i32[wqe + Wqe$6.mrKey]);
		if (region >= 0) recountWindows(host, (region - host.at.keys) / Key$3.words);
	}
	#resume(q, nowNs) {
		const { i32 } = this.#state;
		const t = this.#state.of(q);
		const state = i32[q + Qp$13.state];
		const type = i32[q + Qp$13.type];
		const ready = i32[t + TransportQp.ready];
		if (type !== QpType.RC && type !== QpType.UC) return;
		if ((ready & begun.responder) !== 0 && type === QpType.RC && state >= QpState.Rtr) {
			this.#responses.restart(t);
			if (i32[t + TransportQp.nakDue] === 0) i32[t + TransportQp.nakSent] = 0;
			if (state !== QpState.Err) this.#acks.due(q, t);
		}
		if ((ready & begun.requester) === 0 || state !== QpState.Rts && state !== QpState.Sqd) return;
		if (type === QpType.RC) this.#completer.resume(q, t, nowNs);
		else this.#skipBegun(q, t);
	}
	/** UC sends nothing twice: what was begun counts as sent. */
	#skipBegun(q, t) {
		const { i32 } = this.#state;
		const fresh = i32[t + TransportQp.freshIndex];
		let psn = i32[t + TransportQp.una];
		for (let index = i32[q + Qp$13.sqNext]; index !== fresh; index = index + 1 | 0) {
			const wqe = this.#queue.wqe(q, index);
			if (i32[wqe + SendProgress.settled] === 0) psn = psnAdd(i32[wqe + SendProgress.lastPsn], 1);
		}
		i32[t + TransportQp.newPsn] = psn;
		i32[t + TransportQp.una] = psn;
		i32[t + TransportQp.txPsn] = psn;
		i32[t + TransportQp.txIndex] = fresh;
		this.#queue.completeReady(q, t);
	}
};
// src/transport/transport.ts
/**
* The transport of one device in one thread, without I/O: packets and the time go in, packets and the next deadline come
* out. All state is in the segment, so that any thread may run it, one at a time (see state.ts).
*
*     ring(q)                      requests were posted: from any thread, without the lock
*     receive(at, end, now)        a packet came, whole and with a right ICRC; it lies in the segment
*     advance(now)                 timers; needed when `nextDeadline` has passed
*     transmit(now)                sends what may be sent; true if there is more than the sink took
*     acknowledge()                sends ACKs that were deferred in the hope of a packet to send them with
*     takeOver(now)                call this first: the thread that ran it before may have been killed
*     nextDeadline                 may become earlier with every one of these calls
*/
const { Av: Av$2, Dev: Dev$13, Meta: Meta$5, Qp: Qp$12 } = layout_exports;
/** Packets that one QP sends before it is another's turn. */
const turn = 16;
/** QPs served in one call, at most: then the caller looks for what has come. */
const turnsPerCall = 64;
/** The transport class of an opcode, bits 7:5. */
const rcClass = 0;
const ucClass = 1;
const udClass = 3;
/** Packets of a QP that are outstanding while the next ones may wait. */
const manyOutstanding = 8;
/** The two ECN bits of a packet that met congestion. */
const congestionExperienced = 3;
var Transport = class {
	ackPolicy = new AckPolicy();
	/** Filled by the device before `receive`. */
	origin = new Origin();
	#state;
	#i32;
	#u8;
	#requester;
	#completer;
	#responder;
	#responses;
	#acks;
	#datagrams;
	#takeover;
	#sink;
	#record;
	/** `record` is the first word of `TransportDevice.words` words in the segment, zeroed, the same for all threads. */
	constructor(host, device, record, mtu, sink, options = {}) {
		const state = new TransportState(host, device, record, options);
		this.#state = state;
		this.#i32 = host.i32;
		this.#u8 = host.u8;
		this.#record = record;
		this.#sink = sink;
		const queue = new SendQueue(state);
		this.#requester = new Requester(state, queue);
		this.#completer = new Completer(state, queue);
		this.#acks = new Acknowledgements(state);
		this.#responses = new Responses(state, this.#acks);
		this.#responder = new Responder(state, this.#acks, this.#responses);
		this.#takeover = new Takeover(state, queue, this.#completer, this.#responses, this.#acks);
		this.#datagrams = new Datagrams$1(state, mtu, host.segment.allocate(64));
	}
	/** Makes a new record ready. */
	static prepare(host, record) {
		host.f64[record + TransportDevice.nextDeadline >> 1] = Number.POSITIVE_INFINITY;
	}
	get nextDeadlineNs() {
		return this.#state.timers.nextDeadlineNs;
	}
	/** Rings the doorbell: requests are in the send queue of `q`. */
	ring(q) {
		const i32 = this.#i32;
		const record = this.#record;
		if (Atomics.exchange(i32, q + Qp$12.rung, 1) === 1) return;
		const { segment } = this.#state.host;
		segment.lock(record + TransportDevice.doorbellLock);
		this.#ring(this.#state.host.qpSlot(q));
		segment.unlock(record + TransportDevice.doorbellLock);
	}
	#ring(slot) {
		const i32 = this.#i32;
		const record = this.#record;
		const tail = i32[record + TransportDevice.doorbellTail];
		i32[record + TransportDevice.doorbellRing + (tail & TransportDevice.slots - 1)] = slot;
		Atomics.store(i32, record + TransportDevice.doorbellTail, tail + 1 | 0);
	}
	/** A thread was killed: rings once more for QPs for which it may have rung only half. */
	ringAgain() {
		const i32 = this.#i32;
		const record = this.#record;
		const { host, device } = this.#state;
		const { segment } = host;
		for (let slot = 0; slot < i32[host.at.meta + Meta$5.qpsUsed]; slot++) {
			const q = host.qpWord(slot);
			if (i32[q + Qp$12.number] === 0 || i32[q + Qp$12.device] !== device || Atomics.load(i32, q + Qp$12.rung) === 0) continue;
			segment.lock(record + TransportDevice.doorbellLock);
			if ((i32[record + TransportDevice.doorbellTail] - i32[record + TransportDevice.doorbellHead] | 0) < TransportDevice.slots / 2) this.#ring(slot);
			segment.unlock(record + TransportDevice.doorbellLock);
		}
	}
	/** Like `ring`, for the thread that holds the device's lock. */
	schedule(q) {
		this.#state.schedule(q);
	}
	/**
	* Whether what was posted to `q` last may wait for more: it is one packet, and so much is outstanding that the program
	* will look for completions soon. One system call then sends many packets instead of one.
	*/
	mayBatch(q) {
		const { i32 } = this.#state;
		const t = this.#state.of(q);
		if (i32[q + Qp$12.type] !== QpType.RC || psnDiff(i32[t + TransportQp.newPsn], i32[t + TransportQp.una]) < manyOutstanding) return false;
		return this.#requester.hasShortBacklog(q);
	}
	/** Whether another thread rang the doorbell. */
	get rung() {
		const i32 = this.#i32;
		return Atomics.load(i32, this.#record + TransportDevice.doorbellTail) !== i32[this.#record + TransportDevice.doorbellHead];
	}
	#serveDoorbells() {
		const i32 = this.#i32;
		const record = this.#record;
		for (;;) {
			const head = i32[record + TransportDevice.doorbellHead];
			if (head === Atomics.load(i32, record + TransportDevice.doorbellTail)) return;
			const q = this.#state.host.qpWord(i32[record + TransportDevice.doorbellRing + (head & TransportDevice.slots - 1)]);
			i32[record + TransportDevice.doorbellHead] = head + 1 | 0;
			Atomics.store(i32, q + Qp$12.rung, 0);
			if (i32[q + Qp$12.number] !== 0) this.#state.schedule(q);
		}
	}
	/** Whether this thread runs it with congestion control from now on; all threads of a device have to agree. */
	set congestionControl(on) {
		this.#state.controlCongestion(on);
	}
	/** Whether a call of `transmit` would find something to do. */
	get pending() {
		const i32 = this.#i32;
		return i32[this.#record + TransportDevice.txHead] !== i32[this.#record + TransportDevice.txTail] || this.rung;
	}
	transmit(nowNs) {
		const state = this.#state;
		this.#serveDoorbells();
		const until = this.#i32[this.#record + TransportDevice.txTail];
		for (let turns = 0; turns < turnsPerCall; turns++) {
			if ((this.#i32[this.#record + TransportDevice.txHead] - until | 0) >= 0) break;
			const q = state.next(listed.tx, TransportDevice.txHead, TransportDevice.txTail, TransportDevice.txRing);
			if (q < 0) return false;
			if (this.#serve(q, nowNs)) state.schedule(q);
		}
		return this.pending;
	}
	/** One QP's turn; true if it has more to send. */
	#serve(q, nowNs) {
		const i32 = this.#i32;
		const sink = this.#sink;
		const type = i32[q + Qp$12.type];
		if (type === QpType.UD || type === QpType.GSI) return this.#datagrams.transmit(q, sink, turn);
		const qpState = i32[q + Qp$12.state];
		let left = turn;
		if (qpState >= QpState.Rtr && (qpState !== QpState.Err || this.#acks.owesNak(q))) {
			const sent = this.#responses.send(q, sink, left);
			if (sent < 0 || sent === left) return true;
			left -= sent;
		}
		const more = this.#requester.transmit(q, nowNs, sink, left);
		if (i32[this.#state.of(q) + TransportQp.ackDue] !== 0 && !this.#acks.send(q, sink)) return true;
		return more;
	}
	/** Sends the ACKs that are due; false if there was no room for all. */
	acknowledge() {
		const state = this.#state;
		for (;;) {
			const q = state.next(listed.ack, TransportDevice.ackHead, TransportDevice.ackTail, TransportDevice.ackRing);
			if (q < 0) return true;
			if (this.#i32[state.of(q) + TransportQp.ackDue] === 0) continue;
			if (this.#acks.send(q, this.#sink)) continue;
			state.scheduleAck(q);
			return false;
		}
	}
	/** A packet from `origin`: [at, end) from BTH to the end of the pad. */
	receive(at, end, nowNs) {
		const state = this.#state;
		const i32 = this.#i32;
		const u8 = this.#u8;
		const { counters, host } = state;
		const op = u8[at];
		const header = headerLength[op];
		if (end - at < Bth.length || header !== 0 && end - at < header) {
			state.count(counters.drops_malformed);
			return;
		}
		state.count(counters.rcvd_pkts);
		if (header === 0 || (u8[at + Bth.flags] & BthFlag.tver) !== 0) {
			state.count(counters.drops_opcode);
			return;
		}
		if ((u16(u8, at + Bth.pkey) & 32767) !== 32767) {
			state.count(counters.drops_pkey);
			Atomics.add(i32, host.deviceWord(state.device) + Dev$13.badPkeys, 1);
			return;
		}
		const bits = opcodeBits[op];
		const pad = padOf(u8, at);
		const bytes = end - at - header - pad;
		if (bytes < 0 || bytes + pad > 0 && (bits & OpBit.Payload) === 0 || (bytes + pad & 3) !== 0) {
			state.count(counters.drops_malformed);
			return;
		}
		const number = u24(u8, at + Bth.destQp);
		const kind = op >> 5;
		if (number === 16777215 && kind === udClass) {
			if (this.#datagrams.receiveGroup(op, at, end, this.origin) === 0) state.count(counters.drops_no_qp);
			return;
		}
		if (number === 1 && kind === udClass) {
			this.#datagrams.receiveManagement(op, at, end, this.origin);
			return;
		}
		const q = host.findQp(number);
		if (q < 0 || i32[q + Qp$12.device] !== state.device || i32[q + Qp$12.type] === QpType.GSI) {
			state.count(counters.drops_no_qp);
			return;
		}
		const type = i32[q + Qp$12.type];
		const own = type === QpType.RC ? rcClass : type === QpType.UC ? ucClass : udClass;
		if (!(kind === own || op === WireOpcode.Cnp && own !== udClass)) {
			state.count(counters.drops_opcode);
			return;
		}
		const qpState = i32[q + Qp$12.state];
		if (qpState < QpState.Rtr || qpState === QpState.Err) {
			state.count(counters.drops_qp_state);
			return;
		}
		if (type === QpType.UD) {
			this.#datagrams.receive(q, op, at, end, this.origin);
			return;
		}
		const { source } = this.origin;
		const gid = q + Qp$12.av + Av$2.gid;
		if (i32[gid] !== source[0] || i32[gid + 1] !== source[1] || i32[gid + 2] !== source[2] || i32[gid + 3] !== source[3]) {
			state.count(counters.drops_source);
			return;
		}
		if ((this.origin.trafficClass & 3) === congestionExperienced) this.#marked(q, nowNs);
		if (op === WireOpcode.Cnp) {
			state.count(counters.cnps_rcvd);
			if (qpState >= QpState.Rts) state.congestion?.slowDown(state.of(q), nowNs);
			return;
		}
		const psn = u24(u8, at + Bth.psn);
		if ((bits & OpBit.Response) !== 0) {
			this.#completer.receive(q, op, at, end, psn, nowNs);
			return;
		}
		this.#established(q, qpState);
		this.#responder.receive(q, op, at, end, psn, this.#sink);
		if (this.#responder.completed) this.ackPolicy.receiveCompleted();
	}
	/** A switch says that it is congested: the peer is told, but not with every packet. */
	#marked(q, nowNs) {
		const state = this.#state;
		const { counters, congestion } = state;
		state.count(counters.ecn_marked);
		if (congestion === null || !congestion.cnpDue(state.of(q), nowNs)) return;
		const length = headerLength[WireOpcode.Cnp];
		const at = this.#sink.open(q + Qp$12.av, length);
		if (at < 0) return;
		const u8 = this.#u8;
		putBth(u8, at, WireOpcode.Cnp, 0, this.#i32[q + Qp$12.destQpNum], false, 0);
		u8[at + Bth.ecn] = BthEcn.becn;
		u8.fill(0, at + Bth.length, at + length);
		this.#sink.close(length);
		state.count(counters.cnps_sent);
	}
	/** The first request that reaches a QP in RTR says so. */
	#established(q, qpState) {
		const t = this.#state.of(q);
		if (qpState !== QpState.Rtr || (this.#i32[t + TransportQp.ready] & begun.responder) !== 0) return;
		const { host } = this.#state;
		host.qpEvent(q, EventType.CommEst);
	}
	/** The adapter stood still for so long: no timer ran. */
	postpone(ns) {
		this.#state.timers.postpone(ns);
	}
	/** The lock was taken over from a thread that was killed: whoever runs the transport next brings into order what that left. */
	orphan() {
		this.#i32[this.#record + TransportDevice.orphaned] = 1;
	}
	/** Brings into order what a thread that was killed left unfinished, if anything. */
	takeOver(nowNs) {
		const orphaned = this.#record + TransportDevice.orphaned;
		if (this.#i32[orphaned] === 0) return;
		this.#takeover.run(nowNs);
		this.#i32[orphaned] = 0;
	}
	/** First word of the `Journal` for what the holder of the lock completes. */
	get journal() {
		return this.#record + TransportDevice.journal;
	}
	/** Serves timers that have expired. */
	advance(nowNs) {
		this.#state.timers.advance(nowNs, this.#completer);
	}
};
// src/transport/network-device.ts
/**
* What devices on a network share: the loop that lets any thread of the process run the transport.
*
* No thread blocks on the device's lock. A poster that finds it taken rings the doorbell; the holder looks for doorbells
* again after it has unlocked. So one of the two always serves the request.
*/
const { Dev: Dev$12, Qp: Qp$11 } = layout_exports;
/** A thread that has found the lock taken so often looks whether its owner lives, which reads a file in /proc. */
const looksBeforeDoubt = 256;
/** Batches of packets that are looked at before timers are served, at most. */
const mostBatches = 256;
/** The record of the transport for device `index`, made by the thread that asks first; the first word of it. */
function transportDeviceOf(host, index) {
	const { i32 } = host;
	const dev = host.deviceWord(index);
	if (i32[dev + Dev$12.transport] !== 0) return i32[dev + Dev$12.transport];
	return host.control(() => {
		if (i32[dev + Dev$12.transport] === 0) {
			const record = host.allocate(TransportDevice.words * 4, "openDevice", 0) / 4;
			Transport.prepare(host, record);
			i32[dev + Dev$12.transport] = record;
		}
		return i32[dev + Dev$12.transport];
	});
}
var NetworkDevice = class {
	name;
	host;
	index;
	attr;
	port;
	gids;
	pkeys = [defaultPkey];
	qpWords = TransportQp.words;
	driven = true;
	transport;
	i32;
	#lock;
	/** Whether a request was posted whose context leaves the work to a thread. */
	#forThread = false;
	/** The queue pair that this thread has just posted to, −1 if there is none. */
	#posted = -1;
	/** Whether a microtask will send what may wait. */
	#sendsLater = false;
	#sendLater = () => {
		this.#sendsLater = false;
		if (this.transport.pending) this.drive(false);
	};
	/** How often the lock was found taken. */
	#looks = 0;
	#acks;
	#defersAcks;
	#deferredCounter;
	constructor(host, init, sink) {
		this.name = init.name;
		this.host = host;
		this.index = init.index;
		this.i32 = host.i32;
		this.gids = init.gids;
		const record = transportDeviceOf(host, init.index);
		this.#lock = record + TransportDevice.lock;
		this.#deferredCounter = countersOf(host, init.index).ack_deferred;
		this.transport = new Transport(host, init.index, record, init.activeMtu, sink, init.options);
		this.#acks = this.transport.ackPolicy;
		this.#defersAcks = init.defersAcks ?? true;
		this.attr = deviceAttr(host, init.guid, {
			vendorPartId: 2,
			localCaAckDelay: 15,
			maxRdAtomic: 64
		});
		const { activeMtu } = init;
		const { length } = init.gids;
		this.port = portAttr({
			activeMtu,
			gidTblLen: length,
			lid: 0,
			smLid: 0,
			linkLayer: LinkLayer.Ethernet
		});
	}
	/**
	* A turn begins: what the link has opened and closed since the last one stays as it is until this operation ends. False if
	* this thread may not drive the device any more.
	*/
	entered() {
		return true;
	}
	route(attr) {
		return attr.grh ? 0 : -1;
	}
	fastPath() {
		return null;
	}
	doorbell(q) {
		if (this.i32[q + Qp$11.engine] === 1) {
			this.transport.ring(q);
			this.#forThread = true;
			return;
		}
		if (this.#posted >= 0 && this.#posted !== q) this.transport.ring(this.#posted);
		this.#posted = q;
	}
	settle() {
		if (this.#forThread) {
			this.#forThread = false;
			this.wakeThread();
		}
		if (this.#posted < 0) return;
		if (this.transport.mayBatch(this.#posted)) {
			this.#deferSend();
			return;
		}
		this.drive(false);
		if (this.#posted < 0) return;
		this.transport.ring(this.#posted);
		this.#posted = -1;
		this.wakeThread();
	}
	/**
	* Leaves what was posted to the next look at the queue: the program's poll, or the end of what it is doing now; the thread that
	* drives devices finds it, too.
	*/
	#deferSend() {
		this.transport.ring(this.#posted);
		this.#posted = -1;
		if (this.#sendsLater) return;
		this.#sendsLater = true;
		queueMicrotask(this.#sendLater);
	}
	resume() {}
	progress() {
		this.drive(true);
	}
	/**
	* Runs the transport once, unless another thread runs it: takes what has come (`look`), serves timers, sends. How many
	* packets came.
	*/
	drive(look) {
		const i32 = this.i32;
		const lock = this.#lock;
		const { transport } = this;
		const { segment } = this.host;
		const posted = this.#posted;
		this.#posted = -1;
		if (i32[lock] !== 0 || Atomics.compareExchange(i32, lock, 0, segment.lockValue) !== 0) {
			if (posted >= 0) transport.ring(posted);
			if (!(posted >= 0 && Atomics.compareExchange(i32, lock, 0, segment.lockValue) === 0) && !this.#isOrphaned()) return 0;
		} else if (posted >= 0) transport.schedule(posted);
		return this.#turns(look);
	}
	/** The holder of the lock runs the transport, and gives the lock back; how many packets came. */
	#turns(look) {
		const i32 = this.i32;
		const lock = this.#lock;
		const { host, transport } = this;
		const { segment, f64 } = host;
		let received = 0;
		do {
			segment.enterNow();
			host.journal = transport.journal;
			try {
				if (!this.entered()) return received;
				const now = this.nowNs();
				transport.takeOver(now);
				if (look) received += this.#receiveBatch(now);
				if (transport.nextDeadlineNs <= now) for (let batch = 0, n = 1; n > 0 && batch < mostBatches; batch++) received += n = this.#receiveBatch(now);
				transport.advance(now);
				const sends = transport.pending;
				for (let more = sends; more;) more = transport.transmit(now) && this.room();
				if (!this.#defersAcks || !this.#acks.defers(look, received, this.repliesLate)) transport.acknowledge();
				else if (this.#acks.begins) f64[this.#deferredCounter] = f64[this.#deferredCounter] + 1;
				this.flush();
				if (sends) {
					const heldUpNs = this.nowNs() - now;
					if (heldUpNs > 1e6) transport.postpone(heldUpNs);
				}
			} finally {
				host.journal = 0;
				segment.leave();
				Atomics.store(i32, lock, 0);
			}
		} while (transport.rung && Atomics.compareExchange(i32, lock, 0, segment.lockValue) === 0);
		return received;
	}
	/** Whether ACKs wait for a packet to go with. */
	get acksWait() {
		return this.#acks.waiting;
	}
	#receiveBatch(nowNs) {
		this.#acks.beginBatch();
		return this.receive(nowNs);
	}
	/** Whether there may be several looks before a program replies to what has come, as in an event loop. */
	get repliesLate() {
		return false;
	}
	takeOver() {
		this.#looks = looksBeforeDoubt;
		if (this.#isOrphaned()) this.#turns(true);
		else this.transport.ringAgain();
	}
	/** Looks now and then whether the lock is that of a thread that was killed. Then this thread takes it over. */
	#isOrphaned() {
		if (++this.#looks < looksBeforeDoubt) return false;
		this.#looks = 0;
		if (!this.host.segment.takeFromDead(this.#lock)) return false;
		this.transport.orphan();
		return true;
	}
};
// src/devices/roce/paths.ts
/**
* Paths to peers and from them, as this thread remembers them: for sending the socket, the destination and the ICRC's view
* of the headers; for receiving that view alone. Found by the words of an address, without allocation.
*/
const slots$1 = 1024;
/** Paths that are remembered, at most; then all are forgotten, so that strangers cannot make the memory grow. */
const most = 4096;
/** The address of a multicast group on a network of IPv4 or IPv6: its GID, or 239.x.y.z of the last bytes of one of IPv6. */
function groupAddress(gid, family) {
	const address = ipOfGid(gid);
	if (family === 6 || address.length === 4) return address;
	return Uint8Array.of(239, gid[13], gid[14], gid[15]);
}
var Paths = class {
	#table = new Array(slots$1).fill(null);
	#count = 0;
	/** The path between the GID `local` of this side and the address whose four words begin at `words[at]`, or null. */
	find(words, at, local, port) {
		const a = words[at] | 0;
		const b = words[at + 1] | 0;
		const c = words[at + 2] | 0;
		const d = words[at + 3] | 0;
		for (let path = this.#table[slot(c, d, local, port)] ?? null; path !== null; path = path.next) {
			const w = path.words;
			if (w[3] === d && w[2] === c && w[1] === b && w[0] === a && path.local === local && path.port === port) return path;
		}
		return null;
	}
	/** Whether the next one makes room by forgetting all. */
	get full() {
		return this.#count >= most;
	}
	add(words, at, local, port, flow, socket, destination) {
		if (this.full) this.clear();
		this.#count++;
		const copy = Int32Array.from({ length: 4 }, (_, i) => words[at + i] | 0);
		const place = slot(copy[2], copy[3], local, port);
		const path = {
			words: copy,
			local,
			port,
			flow,
			destination,
			socket,
			next: this.#table[place] ?? null
		};
		this.#table[place] = path;
		return path;
	}
	clear() {
		this.#table = new Array(slots$1).fill(null);
		this.#count = 0;
	}
};
function slot(c, d, local, port) {
	let hash = Math.imul(d ^ c << 7 ^ port << 3 ^ local, 2654435761);
	hash ^= hash >>> 15;
	return hash & 1023;
}
// src/devices/roce/datagram-socket.ts
function advice(error, address, port) {
	return bindAdvice(error.code, address, port) ?? `UDP port ${port} of ${address} could not be bound: ${error.message}`;
}
// src/devices/roce/udp-table.ts
/** The UDP sockets of this network namespace, as /proc/net tells of them. */
/**
* Columns of /proc/net/udp and udp6: sl, local_address, rem_address, st, tx:rx queue, tr:tm->when, retrnsmt, uid, timeout,
* inode, ref, pointer, drops. An address is its words in the machine's order, in hex.
*/
const column = {
	local: 1,
	uid: 7,
	inode: 9,
	drops: 12
};
/** The sockets that are bound to `port`; none where the system does not tell. */
function boundSockets(port) {
	const found = [];
	const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
	for (const name of ["udp", "udp6"]) {
		let text;
		try {
			text = readFileSync(`/proc/net/${name}`, "latin1");
		} catch {
			continue;
		}
		for (const line of text.split("\n").slice(1)) {
			const columns = line.trim().split(/\s+/);
			const local = columns[column.local] ?? "";
			if (!local.endsWith(suffix)) continue;
			const number = (index) => Number(columns[index] ?? 0);
			const address = local.slice(0, -suffix.length);
			found.push({
				address,
				uid: number(column.uid),
				inode: number(column.inode),
				drops: number(column.drops)
			});
		}
	}
	return found;
}
function addressKey(address) {
	const words = new Uint32Array(address.slice().buffer);
	return Array.from(words, (word) => word.toString(16).toUpperCase().padStart(8, "0")).join("");
}
// src/devices/roce/socket-table.ts
/**
* Which sockets a device has, for all threads that use it, and which descriptors of them a process has. The first table is where the
* device is: in the segment that processes share, or in that of the process. Descriptors are numbers of one process, so
* the second is in the segment of the process. An entry of the device is told from what was there before by its serial, and
* a process has the socket if its own entry has the same one.
*/
const { Dev: Dev$11 } = layout_exports;
/**
* Words of one entry. Of the device: what the socket is for, the index of its local GID, how many queue pairs are attached to
* its group, the GID of that, the kernel's drops reported so far, the state of a socket of node:dgram (`datagramState`), and
* its serial, 0 if there is none. Of a process: descriptor plus one, and the serial; in the first entry, the
* descriptor plus one of a socket that is being opened or closed.
*/
const Slot = {
	words: 16,
	fd: 0,
	kind: 1,
	local: 2,
	refs: 3,
	gid: 4,
	drops: 8,
	state: 9,
	changing: 10,
	serial: 11
};
const slotKind = {
	none: 0,
	unicast: 1,
	group: 2
};
var SocketTable = class {
	i32;
	/** First word of the device's record and of its table. */
	dev;
	table;
	/** The same of the process: a record of its own segment, which is the same one where processes do not share the device. */
	ownI32;
	ownDev;
	own;
	constructor(device, own) {
		this.i32 = device.host.i32;
		this.dev = device.host.deviceWord(device.index);
		this.table = this.i32[this.dev + Dev$11.sockets];
		this.ownI32 = own.host.i32;
		this.ownDev = own.host.deviceWord(own.index);
		this.own = this.ownI32[this.ownDev + Dev$11.sockets];
	}
	/** Whether the device is in another segment than that of the process. */
	get isShared() {
		return this.i32 !== this.ownI32;
	}
	/** Changes whenever a socket comes or goes, here or for all. */
	get generation() {
		const shared = Atomics.load(this.i32, this.dev + Dev$11.generation);
		return !this.isShared ? shared : shared + Atomics.load(this.ownI32, this.ownDev + Dev$11.generation) | 0;
	}
	/** The socket is another one from now on, for all (`device`) or here. */
	changed(device) {
		if (device) Atomics.add(this.i32, this.dev + Dev$11.generation, 1);
		else Atomics.add(this.ownI32, this.ownDev + Dev$11.generation, 1);
	}
	/** First word of an entry of the device, and of the process. */
	word(slot) {
		return this.table + slot * Slot.words;
	}
	ownWord(slot) {
		return this.own + slot * Slot.words;
	}
	isUsed(slot) {
		return this.i32[this.word(slot) + Slot.serial] !== 0;
	}
	/** The descriptor with which this process has the socket; −1 if it has none, or there is no such socket. */
	fd(slot) {
		const serial = this.i32[this.word(slot) + Slot.serial];
		const own = this.ownWord(slot);
		return serial !== 0 && this.ownI32[own + Slot.serial] === serial ? this.ownI32[own + Slot.fd] - 1 : -1;
	}
	/** All descriptors that this process has. */
	descriptors() {
		const fds = [];
		for (let slot = 0; slot < 128; slot++) if (this.fd(slot) >= 0) fds.push(this.fd(slot));
		return fds;
	}
	/** Of a socket for a multicast group: its GID. */
	group(slot) {
		const word = this.word(slot);
		if (this.i32[word + Slot.kind] !== slotKind.group) return null;
		return new Uint8Array(this.i32.buffer, (word + Slot.gid) * 4, 16).slice();
	}
	/** The entry of the socket of a multicast group, −1 if there is none. */
	slotOfGroup(gid) {
		for (let slot = 0; slot < 128; slot++) if (this.isUsed(slot) && this.group(slot)?.every((byte, i) => byte === gid[i])) return slot;
		return -1;
	}
	/** Sockets of the device that this process has no descriptor of. */
	missing() {
		const missing = [];
		for (let slot = 0; slot < 128; slot++) if (this.isUsed(slot) && this.fd(slot) < 0) missing.push(slot);
		return missing;
	}
};
// src/devices/roce/datagram-table.ts
const datagramState = {
	free: 0,
	bound: 1,
	asked: 2
};
/** By the first word of the entry in the table. */
const bound = /* @__PURE__ */ new Map();
function portAt(word) {
	return bound.get(word)?.port ?? null;
}
// src/devices/roce/holders.ts
/**
* The processes that have descriptors of the sockets of a shared device, in its segment: where each listens for others that ask for
* them. A process is there by its service thread, which gives them out and drives the device for all while programs do not.
*/
const { Dev: Dev$10 } = layout_exports;
/** The service thread's use of an attachment, 0 while the entry is free; and where it listens, 128 random bits. */
const Holder = {
	words: 8,
	use: 0,
	key: 4
};
const maxHolders = 256;
/** Bytes of a device's table of sockets, with the holders behind them. */
const tableBytes = (128 * Slot.words + maxHolders * Holder.words) * 4;
var Holders = class {
	#host;
	#at;
	constructor(host, index) {
		this.#host = host;
		this.#at = host.i32[host.deviceWord(index) + Dev$10.sockets] + 128 * Slot.words;
	}
	/** First words of all entries. */
	*#entries() {
		for (let n = 0; n < maxHolders; n++) yield this.#at + n * Holder.words;
	}
	/** Those of living holders. */
	*#taken() {
		const { i32, segment } = this.#host;
		for (const word of this.#entries()) {
			const use = Atomics.load(i32, word + Holder.use);
			if (use !== 0 && segment.usesAttachment(use)) yield word;
		}
	}
	/** Enters this thread, and where it listens (16 bytes); false if there are too many. */
	enter(key) {
		const { i32, segment } = this.#host;
		return this.#host.control(() => {
			for (const word of this.#entries()) {
				const use = i32[word + Holder.use];
				if (use !== 0 && segment.usesAttachment(use)) continue;
				new Uint8Array(i32.buffer, (word + Holder.key) * 4, 16).set(key);
				Atomics.store(i32, word + Holder.use, segment.lockValue);
				return true;
			}
			return false;
		});
	}
	/** This thread is no holder any more. */
	leave() {
		const { i32, segment } = this.#host;
		for (const word of this.#entries()) Atomics.compareExchange(i32, word + Holder.use, segment.lockValue, 0);
	}
	/** Where the service threads of other processes listen. */
	*others() {
		const { i32, segment } = this.#host;
		for (const word of this.#taken()) if (!segment.isOwn(i32[word + Holder.use])) yield new Uint8Array(i32.buffer, (word + Holder.key) * 4, 16).slice();
	}
	/** Wakes the service threads of all processes: something of the device has changed, or nobody drives it. */
	wake() {
		const { i32, segment } = this.#host;
		for (const word of this.#taken()) if (i32[word + Holder.use] !== segment.lockValue) segment.wakeOwner(word + Holder.use);
	}
};
/** The abstract name at which a holder listens. */
function keyText(key) {
	return `verbena ${Buffer.from(key).toString("hex")}`;
}
// src/devices/roce/published-counters.ts
/**
* Counters for other processes. A device lives in the memory of its process; so the thread that drives it writes what it
* has counted to a file of the process, once a second at most and only if something has changed:
*
*     $XDG_RUNTIME_DIR/verbena/counters-PID.json       or verbena-UID in the folder for temporary files
*
* The file goes with the process; what a killed one leaves is removed by the next reader.
*/
function folder() {
	const runtime = process.env.XDG_RUNTIME_DIR;
	return runtime ? join(runtime, "verbena") : join(tmpdir(), `verbena-${process.getuid?.() ?? "user"}`);
}
function fileOf(pid) {
	return join(folder(), `counters-${pid}.json`);
}
function unpublish() {
	rmSync(fileOf(process.pid), { force: true });
}
// src/devices/roce/service-handle.ts
/**
* The thread that drives devices (service.ts), as the others of the process see it: starting and waking it, and what
* becomes of it at the end. Each thread that opens a device starts one; of them, one works and the others stand by.
*/
const { Ctx: Ctx$4, Dev: Dev$9, Meta: Meta$4, maxDevices: maxDevices$2 } = layout_exports;
/** `Dev.state` of a device of this kind. */
const roceKind = 1919902565;
/**
* Whether the process ends and this is another thread than the one that ends it: that one gives back what all of them have, so that
* they must not begin to work on what processes share.
*/
function mustNotDrive() {
	if (isMainThread) return false;
	const { i32, at } = processHost();
	return Atomics.load(i32, at.meta + Meta$4.serviceStop) !== 0;
}
/** Whether the process ends: then its sockets go by themselves. */
let ending = false;
/** A thread that ends by errors as often as this within that time is not started again. */
const mostFailures = 5;
const failuresWithinMs = 1e4;
let service = null;
/** When one ended by an error. */
let failures$1 = [];
/** The records of devices that somebody uses. */
function usedRecords(host) {
	const found = [];
	for (let index = 2; index < maxDevices$2; index++) {
		const dev = host.deviceWord(index);
		if (host.i32[dev + Dev$9.state] === 1919902565 && host.i32[dev + Dev$9.users] > 0) found.push(index);
	}
	return found;
}
let openDevices$1 = () => [];
/** What is open, from the module that knows. */
function tellOpenDevices(tell) {
	openDevices$1 = tell;
}
/** Starts the thread that drives devices, unless this thread has one. */
function startService() {
	if (service !== null) return;
	const host = processHost();
	start(host);
	awaitOwner(host);
}
/** Until some thread drives the devices of this segment while programs do not, at most 2 s. */
function awaitOwner({ i32, segment, at }) {
	const owner = at.meta + Meta$4.serviceOwner;
	for (let waited = 0; waited < 400 && Atomics.load(i32, owner) === 0; waited++) segment.wait(owner, 0, 5);
}
function start(host) {
	const data = { command: [basename(process.argv[1] ?? ""), ...process.argv.slice(2)].join(" ").slice(0, 500) };
	const worker = startThread(entryModule(import.meta.url, "./service"), {
		workerData: data,
		name: "verbena roce"
	});
	service = worker;
	worker.unref();
	worker.on("error", failed);
	worker.on("exit", () => {
		if (service === worker) service = null;
		if (!ending && usedRecords(host).length > 0 && failures$1.length < mostFailures) start(host);
	});
}
/** It never ends silently: without it nobody answers peers while the program computes. */
function failed(error) {
	const now = performance.now();
	failures$1 = [...failures$1.filter((then) => now - then < failuresWithinMs), now];
	const last = failures$1.length >= mostFailures;
	for (const { host, index } of openDevices$1()) {
		host.count(index, "service_failures");
		if (last) tellFatal(host, index);
	}
	const then = last ? `This was the ${mostFailures}th time: from now on peers are answered only while the program polls or waits.` : "Another one takes over.";
	process.emitWarning(`the thread that drives roce devices has ended: ${error.stack ?? error}\n${then}`, { code: "VERBENA_ROCE_SERVICE" });
}
function tellFatal(host, index) {
	const { i32, at } = host;
	for (let context = 0; context < i32[at.meta + Meta$4.contextsUsed]; context++) {
		const c = host.ctxWord(context);
		if (i32[c + Ctx$4.uses] === 1 && i32[c + Ctx$4.device] === index && host.segment.isOwn(i32[c + Ctx$4.owner])) host.deviceEvent(context, EventType.DeviceFatal);
	}
}
/** Wakes the thread that drives devices of this segment; false if there is none now. */
function wakeService({ i32, segment, at }) {
	const owner = at.meta + Meta$4.serviceOwner;
	Atomics.add(i32, at.meta + Meta$4.serviceWake, 1);
	segment.wakeOwner(owner);
	return Atomics.load(i32, owner) !== 0;
}
/**
* Until the thread that drives devices has come back from the kernel: the kernel keeps a socket on which it waits, and
* the port with it, although its descriptor is closed.
*/
function awaitService() {
	const host = processHost();
	const { i32, segment, at } = host;
	wakeService(host);
	const owner = at.meta + Meta$4.serviceOwner;
	const word = at.meta + Meta$4.serviceTurns;
	const turns = Atomics.load(i32, word);
	for (let waited = 1; waited <= 1e3 && (turns & 1) === 1 && Atomics.load(i32, word) === turns; waited++) {
		segment.wait(word, turns, .2);
		if (waited % 16 !== 0) continue;
		segment.releaseDead(owner);
		if (Atomics.load(i32, owner) === 0) break;
	}
}
if (isMainThread) process.prependListener("exit", () => {
	ending = true;
});
process.on("exit", () => {
	if (service === null || !isMainThread) return;
	const host = processHost();
	const stop = host.at.meta + Meta$4.serviceStop;
	Atomics.store(host.i32, stop, 1);
	wakeService(host);
	const waits = usedRecords(host).map((index) => host.deviceWord(index)).some((dev) => host.i32[dev + Dev$9.wrapsBytes] > 0 || host.i32[dev + Dev$9.shared] === 1);
	for (let waited = 0; waits && waited < 100 && Atomics.load(host.i32, stop) === 1; waited++) host.segment.wait(stop, 1, 5);
	unpublish();
});
// src/devices/roce/device-records.ts
const { Dev: Dev$8, maxDevices: maxDevices$1 } = layout_exports;
/** Addresses of the device with this canonical name. */
function addressesOf(name) {
	if (name === "roce") {
		const all = hostAddresses().filter((address) => stateOfAddress(address) !== "duplicate");
		const outside = all.filter(({ loopback }) => !loopback);
		return outside.length > 0 ? outside : all;
	}
	const address = findAddress(name.slice(5));
	return address ? [address] : [];
}
/** Finds or makes the record of a device in the segment: the same in all threads. */
function recordOf(host, addresses, all) {
	const { i32 } = host;
	const identity = /* @__PURE__ */ new Int32Array(5);
	const bytes = new Uint8Array(identity.buffer);
	if (!all) bytes.set(gidOfIp(addresses[0].address));
	identity[4] = all ? -1 : addresses[0].scopeId;
	const find = () => {
		for (let index = 2; index < maxDevices$1; index++) {
			const dev = host.deviceWord(index);
			if (i32[dev + Dev$8.state] === 1919902565 && identity.every((word, i) => i32[dev + Dev$8.identity + i] === word)) return index;
		}
		return -1;
	};
	const known = find();
	if (known >= 0) return known;
	return host.control(() => {
		const made = find();
		if (made >= 0) return made;
		let free = -1;
		for (let index = maxDevices$1 - 1; index >= 2; index--) if (i32[host.deviceWord(index) + Dev$8.state] === 0) free = index;
		if (free < 0) throw new VerbsError("ENOMEM", "openDevice", `all ${maxDevices$1} devices of the process are in use`);
		const dev = host.deviceWord(free);
		i32.set(identity, dev + Dev$8.identity);
		i32[dev + Dev$8.sockets] = host.allocate(tableBytes, "openDevice", 0) / 4;
		i32[dev + Dev$8.state] = roceKind;
		return free;
	});
}
/** The name of the device with this record, made of its identity. */
function nameOf$1(host, dev) {
	if (host.i32[dev + Dev$8.identity + 4] === -1) return "roce";
	const gid = new Uint8Array(host.i32.buffer, (dev + Dev$8.identity) * 4, 16);
	const scope = host.i32[dev + Dev$8.identity + 4];
	const known = hostAddresses().find(({ address, scopeId }) => scopeId === scope && gidOfIp(address).every((byte, i) => byte === gid[i]));
	if (known) return `roce:${known.text}`;
	return gid[10] === 255 && gid[12] === 127 ? `roce:${gid.subarray(12).join(".")}` : null;
}
// src/devices/middleware/faults.ts
/** More packets than this are not held back: then the oldest goes. */
const mostHeld = 65536;
/** A small generator with a seed (mulberry32). */
function seeded(seed) {
	let state = seed | 0;
	return () => {
		state = state + 1831565813 | 0;
		let t = Math.imul(state ^ state >>> 15, 1 | state);
		t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
		return ((t ^ t >>> 14) >>> 0) / 4294967296;
	};
}
var FaultLayer = class {
	#rates;
	#count;
	#random;
	#held = [];
	#order = 0;
	#next = Number.POSITIVE_INFINITY;
	/** `salt` keeps two devices with the same seed from losing the same packets. */
	constructor(rates, salt, count) {
		this.#rates = rates;
		this.#count = count;
		const seed = Math.imul(rates.seed ?? 1, 2654435761) ^ salt;
		this.#random = [seeded(seed), seeded(seed ^ 1431655765)];
	}
	get nextDeadlineNs() {
		return this.#next;
	}
	pass(packet, next) {
		const { loss, duplication, direction } = this.#rates;
		if (direction === (packet.outbound ? "in" : "out")) {
			next(packet);
			return;
		}
		const random = this.#random[packet.outbound ? 1 : 0];
		if (happens(loss, random)) {
			this.#count("injected_losses");
			return;
		}
		const twice = happens(duplication, random);
		if (twice) this.#count("injected_duplicates");
		for (let copies = twice ? 2 : 1; copies > 0; copies--) this.#carry(packet, next, random);
	}
	#carry(original, next, random) {
		const { corruption, reordering, reorderMs = 2, delayMs = 0, jitterMs = 0 } = this.#rates;
		let packet = original;
		if (happens(corruption, random)) {
			this.#count("injected_corruptions");
			packet = packet.copy();
			damage(packet, random);
		}
		const late = (delayMs + jitterMs * (jitterMs > 0 ? random() : 0)) * 1e6;
		const overtaken = happens(reordering, random);
		if (late > 0) this.#count("injected_delays");
		if (overtaken) this.#count("injected_reorderings");
		if (late === 0 && !overtaken) {
			next(packet);
			this.#release(packet);
			return;
		}
		const kept = packet === original ? packet.copy() : packet;
		const dueNs = packet.timeNs + late + (overtaken ? reorderMs * 1e6 : 0);
		this.#held.push({
			dueNs,
			order: this.#order++,
			packet: kept,
			next,
			overtaken: overtaken && late === 0
		});
		if (dueNs < this.#next) this.#next = dueNs;
		if (this.#held.length > mostHeld) this.advance(this.#next);
	}
	/** One has passed: those that were to be overtaken have been. */
	#release({ outbound, timeNs }) {
		if (this.#held.length === 0) return;
		this.#letGo(this.#held.filter((held) => held.overtaken && held.packet.outbound === outbound), timeNs);
	}
	advance(nowNs) {
		if (nowNs < this.#next) return;
		const due = this.#held.filter((held) => held.dueNs <= nowNs);
		this.#letGo(due.sort((a, b) => a.dueNs - b.dueNs || a.order - b.order), nowNs);
	}
	#letGo(going, timeNs) {
		if (going.length === 0) return;
		const gone = new Set(going);
		this.#held = this.#held.filter((held) => !gone.has(held));
		this.#next = this.#held.reduce((next, { dueNs }) => Math.min(next, dueNs), Number.POSITIVE_INFINITY);
		for (const { packet, next } of going) {
			packet.timeNs = timeNs;
			next(packet);
		}
	}
	flush() {}
	/** What is held now is never sent. */
	close() {
		this.#held = [];
		this.#next = Number.POSITIVE_INFINITY;
	}
};
function happens(probability, random) {
	return probability !== void 0 && probability > 0 && random() < probability;
}
/** Flips one bit of what the ICRC covers, or of the ICRC: byte 4 of the BTH, which routers may change, is left out. */
function damage({ bytes, start, end }, random) {
	const bit = Math.floor(random() * (end - start - 1) * 8);
	const byte = bit >> 3;
	const at = start + byte + (byte >= 4 ? 1 : 0);
	bytes[at] = bytes[at] ^ 1 << (bit & 7);
}
// src/capture/format.ts
const blockType = {
	sectionHeader: 168627466,
	interfaceDescription: 1,
	packet: 2,
	simplePacket: 3,
	nameResolution: 4,
	interfaceStatistics: 5,
	enhancedPacket: 6,
	systemdJournal: 9,
	decryptionSecrets: 10,
	custom: 2989,
	customNoCopy: 1073744813
};
/** Second word of a Section Header Block's body, read in the right byte order. */
const byteOrderMagic = 439041101;
const optionCode = {
	end: 0,
	comment: 1,
	shbHardware: 2,
	shbOs: 3,
	shbUserAppl: 4,
	ifName: 2,
	ifDescription: 3,
	ifTsresol: 9,
	ifOs: 12,
	ifTsoffset: 14,
	epbFlags: 2,
	epbDropCount: 4,
	isbIfRecv: 4,
	isbIfDrop: 5
};
/** What the first bytes of a packet are (https://www.tcpdump.org/linktypes.html). */
const LinkType = {
	Null: 0,
	Ethernet: 1,
	RawBsd: 12,
	RawOpenBsd: 14,
	Raw: 101,
	Loop: 108,
	LinuxSll: 113,
	Erf: 197,
	Ipv4: 228,
	Ipv6: 229,
	InfiniBand: 247,
	LinuxSll2: 276
};
LinkType.Null, LinkType.Ethernet, LinkType.RawBsd, LinkType.RawOpenBsd, LinkType.Raw, LinkType.Loop, LinkType.LinuxSll, LinkType.Erf, LinkType.Ipv4, LinkType.Ipv6, LinkType.InfiniBand, LinkType.LinuxSll2;
// src/capture/sink.ts
/** Collects small writes in one buffer. */
var SinkBuffer = class {
	bytes;
	view;
	at = 0;
	sink;
	constructor(sink, size = 1 << 18) {
		this.sink = sink;
		this.bytes = new Uint8Array(size);
		this.view = new DataView(this.bytes.buffer);
	}
	/** Makes room for `count` bytes at `at`. */
	reserve(count) {
		if (this.bytes.length - this.at >= count) return;
		this.flush();
		if (this.bytes.length >= count) return;
		this.bytes = new Uint8Array(count);
		this.view = new DataView(this.bytes.buffer);
	}
	flush() {
		if (this.at > 0) this.sink.write(this.bytes.subarray(0, this.at));
		this.at = 0;
	}
};
// src/capture/time-stamp.ts
/** Units per second of an if_tsresol option: a power of ten, or of two if the top bit is set. */
function unitsOfResolution(resolution) {
	const exponent = resolution & 127;
	return (resolution & 128) !== 0 ? 2 ** exponent : Number(`1e${exponent}`);
}
// src/capture/write-pcapng.ts
/** Writes pcapng files: several interfaces with names, link types and clocks of their own, comments and directions. */
const utf8 = new TextEncoder();
var PcapngWriter = class {
	#out;
	#littleEndian;
	#interfaces = [];
	constructor(sink, options = {}) {
		this.#out = new SinkBuffer(sink);
		this.#littleEndian = options.littleEndian ?? true;
		const start = this.#open(blockType.sectionHeader, 28 + optionsSize(Object.values(options)));
		this.#u32(byteOrderMagic);
		this.#u16(1);
		this.#u16(0);
		this.#u32(4294967295);
		this.#u32(4294967295);
		this.#text(optionCode.comment, options.comment);
		this.#text(optionCode.shbHardware, options.hardware);
		this.#text(optionCode.shbOs, options.os);
		this.#text(optionCode.shbUserAppl, options.application);
		this.#close(start, true);
	}
	/** Describes an interface; its number goes with each of its packets. */
	addInterface(options = {}) {
		const { linkType = LinkType.Ethernet, snapLength = 0, resolution = 9, offsetSeconds = 0 } = options;
		const start = this.#open(blockType.interfaceDescription, 64 + optionsSize([options.name, options.description]));
		this.#u16(linkType);
		this.#u16(0);
		this.#u32(snapLength);
		this.#text(optionCode.ifName, options.name);
		this.#text(optionCode.ifDescription, options.description);
		this.#option(optionCode.ifTsresol, 1);
		this.#out.bytes[this.#out.at] = resolution;
		this.#out.at += 4;
		if (offsetSeconds !== 0) {
			this.#option(optionCode.ifTsoffset, 8);
			this.#out.view.setBigInt64(this.#out.at, BigInt(offsetSeconds), this.#littleEndian);
			this.#out.at += 8;
		}
		this.#close(start, true);
		return this.#interfaces.push({
			unitsPerSecond: unitsOfResolution(resolution),
			offsetSeconds,
			snapLength
		}) - 1;
	}
	packet(bytes, offset, length, seconds, nanoseconds, originalLength = length, interfaceId = 0, options) {
		const info = this.#interfaces[interfaceId];
		if (info === void 0) throw new RangeError(`no interface ${interfaceId}: call addInterface first`);
		const captured = info.snapLength === 0 ? length : Math.min(length, info.snapLength);
		const padded = captured + 3 & -4;
		const extra = options === void 0 ? 0 : optionsSize([options.comment]) + 24;
		const start = this.#open(blockType.enhancedPacket, 32 + padded + extra);
		this.#u32(interfaceId);
		this.#time(info, seconds, nanoseconds);
		this.#u32(captured);
		this.#u32(originalLength);
		const out = this.#out;
		out.bytes.set(bytes.subarray(offset, offset + captured), out.at);
		out.bytes.fill(0, out.at + captured, out.at + padded);
		out.at += padded;
		if (options !== void 0) this.#packetOptions(options);
		this.#close(start, options !== void 0);
	}
	/**
	* What is known of an interface at the end of its capture: packets that passed its filter, and those of them that were lost.
	* `timeMs`: milliseconds since 1970.
	*/
	statistics(interfaceId, timeMs, counts) {
		const info = this.#interfaces[interfaceId];
		if (info === void 0) throw new RangeError(`no interface ${interfaceId}: call addInterface first`);
		const start = this.#open(blockType.interfaceStatistics, 64);
		this.#u32(interfaceId);
		const seconds = Math.floor(timeMs / 1e3);
		this.#time(info, seconds, Math.round((timeMs - seconds * 1e3) * 1e6));
		for (const [code, count] of [[optionCode.isbIfRecv, counts.received], [optionCode.isbIfDrop, counts.dropped]]) {
			this.#option(code, 8);
			this.#out.view.setBigUint64(this.#out.at, BigInt(count), this.#littleEndian);
			this.#out.at += 8;
		}
		this.#close(start, true);
	}
	flush() {
		this.#out.flush();
	}
	close() {
		this.flush();
		this.#out.sink.close?.();
	}
	#packetOptions({ comment, direction, dropCount }) {
		this.#text(optionCode.comment, comment);
		if (direction !== void 0) {
			this.#option(optionCode.epbFlags, 4);
			this.#u32(direction === "inbound" ? 1 : 2);
		}
		if (dropCount !== void 0) {
			this.#option(optionCode.epbDropCount, 8);
			this.#out.view.setBigUint64(this.#out.at, BigInt(dropCount), this.#littleEndian);
			this.#out.at += 8;
		}
	}
	/** The two words of a time stamp, computed without bigint for the usual resolutions. */
	#time({ unitsPerSecond, offsetSeconds }, seconds, nanoseconds) {
		const whole = seconds - offsetSeconds;
		if (unitsPerSecond !== 1e6 && unitsPerSecond !== 1e9) {
			const units = BigInt(unitsPerSecond);
			const fraction = (BigInt(nanoseconds) * units + 999999999n) / 1000000000n;
			const exact = unitsPerSecond > 1e9 ? fraction : BigInt(nanoseconds) * units / 1000000000n;
			const count = BigInt(whole) * units + exact;
			this.#u32(Number(count >> 32n & 4294967295n));
			this.#u32(Number(count & 4294967295n));
			return;
		}
		const fraction = Math.floor(nanoseconds / (1e9 / unitsPerSecond));
		const lowSeconds = whole % 65536;
		const upper = (whole - lowSeconds) / 65536 * unitsPerSecond;
		const lower = lowSeconds * unitsPerSecond + fraction;
		const low = upper % 65536 * 65536 + lower % 4294967296;
		this.#u32(Math.floor(upper / 65536) + Math.floor(lower / 4294967296) + Math.floor(low / 4294967296));
		this.#u32(low % 4294967296);
	}
	#open(type, atMost) {
		this.#out.reserve(atMost);
		const start = this.#out.at;
		this.#u32(type);
		this.#u32(0);
		return start;
	}
	#close(start, hasOptions) {
		if (hasOptions) this.#u32(optionCode.end);
		const total = this.#out.at + 4 - start;
		this.#u32(total);
		this.#out.view.setUint32(start + 4, total, this.#littleEndian);
	}
	#text(code, text) {
		if (text === void 0) return;
		const bytes = utf8.encode(text).subarray(0, 65535);
		this.#option(code, bytes.length);
		const out = this.#out;
		const padded = bytes.length + 3 & -4;
		out.bytes.set(bytes, out.at);
		out.bytes.fill(0, out.at + bytes.length, out.at + padded);
		out.at += padded;
	}
	#option(code, length) {
		this.#u16(code);
		this.#u16(length);
		this.#out.bytes.fill(0, this.#out.at, this.#out.at + Math.min(length + 3 & -4, 8));
	}
	#u16(value) {
		this.#out.view.setUint16(this.#out.at, value, this.#littleEndian);
		this.#out.at += 2;
	}
	#u32(value) {
		this.#out.view.setUint32(this.#out.at, value, this.#littleEndian);
		this.#out.at += 4;
	}
};
/** Room for options: a UTF-16 unit becomes at most three bytes. */
function optionsSize(texts) {
	let size = 8;
	for (const text of texts) if (typeof text === "string") size += 8 + text.length * 3;
	return size;
}
new Set(Object.values(blockType));
new TextDecoder();
// src/devices/middleware/tap.ts
/**
* Packets into a pcapng file, each as the Ethernet frame that it was or will be: the headers below the BTH are made for it
* from what the socket tells. Several devices may write to one file, each as an interface of its own.
*/
/** A file that is being written in this thread, for all layers that have it. */
var TapFile = class {
	writer;
	users = 0;
	/** The file is there already; what it holds stays. */
	constructor(path) {
		const descriptor = openSync(path, "a");
		this.writer = new PcapngWriter({ write(bytes) {
			for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at);
		} }, { application: "verbena" });
	}
};
const files = /* @__PURE__ */ new Map();
var TapLayer = class {
	nextDeadlineNs = Number.POSITIVE_INFINITY;
	#path;
	#file = null;
	#interface = 0;
	#frame = new Uint8Array(Ethernet.length + Ipv6.length + Udp.length + 65536);
	/** Seconds and nanoseconds of the day's clock, less those of the monotonic clock. */
	#offsetNs;
	#wholeMs;
	constructor(path, device, nowNs) {
		this.#path = path;
		this.#wholeMs = Date.now();
		this.#offsetNs = nowNs;
		this.#try(() => {
			const file = files.get(path) ?? new TapFile(path);
			files.set(path, file);
			file.users++;
			this.#file = file;
			this.#interface = file.writer.addInterface({
				name: device,
				description: `RoCEv2 of process ${process.pid}`
			});
		});
	}
	pass(packet, next) {
		const file = this.#file;
		if (file !== null) {
			const length = writeFrame(packet, this.#frame);
			const ns = packet.timeNs - this.#offsetNs;
			const ms = this.#wholeMs + Math.floor(ns / 1e6);
			const seconds = Math.floor(ms / 1e3);
			const nanoseconds = (ms - seconds * 1e3) * 1e6 + Math.floor(ns - Math.floor(ns / 1e6) * 1e6);
			const direction = packet.outbound ? "outbound" : "inbound";
			this.#try(() => file.writer.packet(this.#frame, 0, length, seconds, nanoseconds, length, this.#interface, { direction }));
		}
		next(packet);
	}
	advance() {}
	flush() {
		this.#try(() => this.#file?.writer.flush());
	}
	close() {
		const file = this.#file;
		if (file === null) return;
		this.flush();
		this.#file = null;
		if (--file.users === 0) files.delete(this.#path);
	}
	/** A disk that is full must not end the thread that answers peers: the tap ends, and says so. */
	#try(action) {
		try {
			action();
		} catch (error) {
			this.#file = null;
			process.stderr.write(`verbena: the tap ends: ${error.message}\n`);
		}
	}
};
/** The frame of a packet, from Ethernet on, at the beginning of `b`; its length. */
function writeFrame(packet, b) {
	const source = ipOfGid(packet.source);
	const destination = ipOfGid(packet.destination);
	const four = source.length === 4;
	const etherType = four ? EtherType.ipv4 : EtherType.ipv6;
	const ip = emitEthernet({
		source: macOf(source),
		destination: macOf(destination),
		tags: [],
		etherType
	}, b, 0);
	const udp = ip + (four ? Ipv4.length : Ipv6.length);
	const bth = udp + Udp.length;
	const end = bth + packet.end - packet.start;
	b.fill(0, ip, bth);
	const hopLimit = packet.hopLimit || 64;
	if (four) {
		b[ip] = 69;
		b[ip + Ipv4.tos] = packet.trafficClass;
		put16(b, ip + Ipv4.totalLength, end - ip);
		put16(b, ip + Ipv4.identification, Math.max(0, packet.identification));
		put16(b, ip + Ipv4.fragment, ipv4DontFragment);
		b[ip + Ipv4.ttl] = hopLimit;
		b[ip + Ipv4.protocol] = IpProtocol.udp;
		b.set(source, ip + Ipv4.source);
		b.set(destination, ip + Ipv4.destination);
		put16(b, ip + Ipv4.checksum, ipv4Checksum(b, ip, udp));
	} else {
		put32(b, ip, 1610612736 | packet.trafficClass << 20);
		put16(b, ip + Ipv6.payloadLength, end - udp);
		b[ip + Ipv6.nextHeader] = IpProtocol.udp;
		b[ip + Ipv6.hopLimit] = hopLimit;
		b.set(source, ip + Ipv6.source);
		b.set(destination, ip + Ipv6.destination);
	}
	put16(b, udp + Udp.sourcePort, packet.sourcePort);
	put16(b, udp + Udp.destinationPort, rocePort);
	put16(b, udp + Udp.udpLength, end - udp);
	b.set(packet.bytes.subarray(packet.start, packet.end), bth);
	put16(b, udp + Udp.checksum, udpChecksum(b, udp, end, source, destination));
	return end;
}
/** A socket does not tell MAC addresses: one is made of the last four bytes; multicast has its own. */
function macOf(address) {
	const [a, b, c, d] = address.subarray(-4);
	if (address.length === 4 && (address[0] & 240) === 224) return Uint8Array.of(1, 0, 94, b & 127, c, d);
	if (address.length === 16 && address[0] === 255) return Uint8Array.of(51, 51, a, b, c, d);
	return Uint8Array.of(2, address.length === 4 ? 0 : 1, a, b, c, d);
}
// src/devices/middleware/trace.ts
/** A line for each packet, in the words of `verbena trace show`, as it passes. */
var TraceLayer = class {
	nextDeadlineNs = Number.POSITIVE_INFINITY;
	#print;
	constructor(print) {
		this.#print = print;
	}
	pass(packet, next) {
		this.#print(lineOf(packet));
		next(packet);
	}
	advance() {}
	flush() {}
	close() {}
};
/** `12.345678  out  127.0.0.1 → 127.0.0.2  RC_SEND_ONLY  QP 0x1a2b3c  PSN 17  64 B, ACK wanted`. Seconds are of the monotonic clock. */
function lineOf(packet) {
	const { bytes, start, end, outbound, source, destination, identification, timeNs } = packet;
	const ends = `${formatIp(ipOfGid(source))} → ${formatIp(ipOfGid(destination))}`;
	const head = `${(timeNs / 1e9).toFixed(6)}  ${outbound ? "out" : "in "}  ${ends}`;
	const op = bytes[start];
	const header = headerLength[op];
	const bits = opcodeBits[op];
	const pad = (bytes[start + Bth.flags] & BthFlag.pad) >> BthFlag.padShift;
	const payload = end - start - header - pad - Icrc.length;
	if (end - start < Bth.length + Icrc.length || header === 0 || payload < 0) return `${head}  ${end - start} bytes that are no RoCE packet${identification < 0 ? ", wrong ICRC" : ""}`;
	const notes = [];
	if ((bits & OpBit.Payload) !== 0) notes.push(`${payload} B`);
	const h = start + Bth.length;
	if ((bits & OpBit.Deth) !== 0) notes.push(`from QP 0x${u24(bytes, h + Deth.srcQp).toString(16)}`);
	else if ((bits & OpBit.Reth) !== 0) notes.push(`of ${u32(bytes, h + Reth.dmaLength)} B`);
	else if ((bits & OpBit.Aeth) !== 0) notes.push(syndromeText(bytes[h + Aeth.syndrome]));
	if ((bytes[start + Bth.ackReq] & 128) !== 0) notes.push("ACK wanted");
	if (identification < 0) notes.push("wrong ICRC");
	const numbers = `QP 0x${u24(bytes, start + Bth.destQp).toString(16)}  PSN ${u24(bytes, start + Bth.psn)}`;
	return `${head}  ${opcodeName(op)}  ${numbers}${notes.length > 0 ? `  ${notes.join(", ")}` : ""}`;
}
// src/devices/middleware/chain.ts
/**
* Layers of middleware around the link of a device, the first nearest to the program:
*
*     program ── send ──► layer 0 ──► layer 1 ──► toWire
*     program ◄─ toProgram ◄─ layer 0 ◄─ layer 1 ◄── receive ── wire
*
* A device has one chain, in the one thread that drives it while it is wrapped.
*/
var Chain = class {
	#layers;
	/** What follows each layer, outbound and inbound. */
	#out;
	#in;
	constructor(wraps, ends) {
		this.#layers = wraps.map((wrap) => layerOf(wrap, ends));
		const layers = this.#layers;
		const out = [(packet) => ends.toWire(packet)];
		const inward = [(packet) => ends.toProgram(packet)];
		for (let i = layers.length - 1; i >= 0; i--) {
			const next = out[0];
			out.unshift((packet) => layers[i].pass(packet, next));
		}
		for (const layer of layers) {
			const next = inward[0];
			inward.unshift((packet) => layer.pass(packet, next));
		}
		this.#out = out;
		this.#in = inward;
	}
	send(packet) {
		this.#out[0](packet);
	}
	receive(packet) {
		this.#in[0](packet);
	}
	advance(now) {
		for (const layer of this.#layers) layer.advance(now);
	}
	get nextDeadlineNs() {
		let next = Number.POSITIVE_INFINITY;
		for (const layer of this.#layers) next = Math.min(next, layer.nextDeadlineNs);
		return next;
	}
	flush() {
		for (const layer of this.#layers) layer.flush();
	}
	close() {
		for (const layer of this.#layers) layer.close();
	}
};
function layerOf(wrap, ends) {
	if (wrap.kind === "faults") {
		let salt = 0;
		for (const character of ends.device) salt = Math.imul(salt, 31) + character.charCodeAt(0) | 0;
		return new FaultLayer(wrap, salt, ends.count);
	}
	if (wrap.kind === "tap") return new TapLayer(wrap.path, ends.device, nowNs());
	return new TraceLayer(wrap.onLine ?? ((line) => void writeSync(2, `${line}\n`)));
}
// src/devices/middleware/packet.ts
/** A packet on its way through middleware: from BTH to the end of the ICRC, and what the network layer says of it. */
var Packet = class Packet {
	outbound = false;
	bytes = /* @__PURE__ */ new Uint8Array(0);
	/** [start, end) of `bytes`. */
	start = 0;
	end = 0;
	/** GIDs, 16 bytes. */
	source = /* @__PURE__ */ new Uint8Array(16);
	destination = /* @__PURE__ */ new Uint8Array(16);
	sourcePort = 0;
	trafficClass = 0;
	hopLimit = 0;
	/** Of the IPv4 header, as far as the ICRC tells; −1 where no identification makes the ICRC right. */
	identification = 0;
	timeNs = 0;
	/** The device's own: which socket it comes from or goes to. */
	way = null;
	/** One with bytes of its own, which may be kept. */
	copy() {
		const copy = new Packet();
		Object.assign(copy, this);
		copy.bytes = this.bytes.slice(this.start, this.end);
		copy.start = 0;
		copy.end = copy.bytes.length;
		copy.source = this.source.slice();
		copy.destination = this.destination.slice();
		return copy;
	}
};
// src/devices/middleware/wraps.ts
/**
* Naming middleware: functions for programs, and the environment for commands:
*
*     VERBENA_FAULTS=loss=3%,duplication=1%,delay=2ms,seed=7
*     VERBENA_TAP=roce-%p.pcapng          %p is the process id
*     VERBENA_TRACE=1
*
* From the environment the order is faults, trace, tap: the tap is nearest to the wire, as tcpdump would be.
*/
const probabilities = [
	"loss",
	"duplication",
	"reordering",
	"corruption"
];
const times = [
	"reorderMs",
	"delayMs",
	"jitterMs"
];
const directions = [
	"out",
	"in",
	"both"
];
/** Nothing is held longer: a packet of more than this is lost for any protocol. */
const longestMs = 6e4;
/** A line for each packet: to `onLine` in the thread that opened the device, else to standard error. */
function trace(onLine) {
	return checkWrap(onLine ? {
		kind: "trace",
		onLine
	} : { kind: "trace" });
}
/** Throws EINVAL if it is no layer, with `place` in front: where the layer was asked for. */
function checkWrap(wrap, place = "wrap") {
	const wrong = (what) => new VerbsError("EINVAL", "openDevice", `${place}: ${what}`);
	if (typeof wrap !== "object" || wrap === null) throw wrong("a layer is what faults(), tap() or trace() gives");
	if (wrap.kind === "tap") {
		if (typeof wrap.path !== "string" || wrap.path === "" || wrap.path.includes("\0")) throw wrong("a tap needs the name of a file");
	} else if (wrap.kind === "trace") {
		if (wrap.onLine !== void 0 && typeof wrap.onLine !== "function") throw wrong("onLine is a function");
	} else if (wrap.kind === "faults") {
		const known = [
			"kind",
			"direction",
			"seed",
			...probabilities,
			...times
		];
		const stranger = Object.keys(wrap).find((key) => !known.includes(key));
		if (stranger) throw wrong(`there is no fault '${stranger}'; there are ${known.slice(1).join(", ")}`);
		for (const name of probabilities) {
			const value = wrap[name] ?? 0;
			if (!(value >= 0 && value <= 1)) throw wrong(`${name} is a probability from 0 to 1, not ${value}`);
		}
		for (const name of times) {
			const value = wrap[name] ?? 0;
			if (!(value >= 0 && value <= longestMs)) throw wrong(`${name} is from 0 to ${longestMs} milliseconds, not ${value}`);
		}
		if (!directions.includes(wrap.direction ?? "both")) throw wrong("direction is 'out', 'in' or 'both'");
		if (!Number.isSafeInteger(wrap.seed ?? 1)) throw wrong("seed is an integer");
	} else throw wrong(`there is no layer '${wrap.kind}'; there are faults, tap and trace`);
	return wrap;
}
/** The middleware that the environment asks for. EINVAL says what is wrong with it. */
function wrapsOfEnvironment(env = process.env) {
	const wraps = [];
	if (env.VERBENA_FAULTS) wraps.push(parseFaults(env.VERBENA_FAULTS));
	if (env.VERBENA_TRACE && env.VERBENA_TRACE !== "0") wraps.push(trace());
	if (env.VERBENA_TAP) {
		const path = env.VERBENA_TAP.replaceAll("%p", String(process.pid));
		wraps.push(checkWrap({
			kind: "tap",
			path
		}, "VERBENA_TAP"));
	}
	return wraps;
}
let told = false;
/**
* For devices without a link that could be wrapped: what the environment asks for is checked as for any other, and a
* warning says, once, that it does nothing there.
*/
function warnOfWraps(device, env = process.env) {
	const wraps = wrapsOfEnvironment(env);
	if (wraps.length === 0 || told) return;
	told = true;
	const names = wraps.map(({ kind }) => `VERBENA_${kind.toUpperCase()}`).join(", ");
	process.emitWarning(`${names}: ${device} has no link to which this could be done; a device on a network has, for example roce:127.0.0.1`, { code: "VERBENA_NO_LINK" });
}
/** `loss=3%,reordering=0.01,delay=2ms,jitter=500us,direction=out,seed=7`. */
function parseFaults(text) {
	const wrong = (what) => new VerbsError("EINVAL", "openDevice", `VERBENA_FAULTS: ${what}`);
	const rates = {};
	for (const part of text.split(",")) {
		const [name = "", value = ""] = part.split("=").map((word) => word.trim());
		if (name === "") continue;
		if (value === "") throw wrong(`'${part}' is no setting: write ${name}=VALUE`);
		if (name === "direction") rates[name] = value;
		else if (name === "delay" || name === "jitter" || name === "reorder") rates[`${name}Ms`] = milliseconds(value, wrong);
		else rates[name] = value.endsWith("%") ? Number(value.slice(0, -1)) / 100 : Number(value);
	}
	return checkWrap({
		kind: "faults",
		...rates
	}, "VERBENA_FAULTS");
}
function milliseconds(text, wrong) {
	const match = /^(\d+(?:\.\d+)?)(us|ms|s)?$/.exec(text);
	if (!match) throw wrong(`'${text}' is no time: write 2ms, 500us or 1s`);
	return Number(match[1]) * {
		us: .001,
		ms: 1,
		s: 1e3
	}[match[2] ?? "ms"];
}
// src/devices/roce/middleware-relay.ts
/**
* The middleware of a device, as the threads of a process hand it over: the thread that opens the device writes it into the segment
* as JSON, and the thread that drives the device makes the chain of it.
*/
const { Dev: Dev$7, maxDevices } = layout_exports;
/** What the program asks for, then what the environment asks for. */
function wrapsWanted(options) {
	return [...(options.wrap ?? []).map((wrap) => checkWrap(wrap)), ...wrapsOfEnvironment()];
}
/** Writes them into the record at `dev`, whose device nobody has open; under the control lock. */
function putWraps(host, dev, wraps) {
	const { i32, segment } = host;
	const stored = wraps.map((wrap) => {
		if (wrap.kind === "tap") return {
			kind: "tap",
			path: resolve(wrap.path)
		};
		if (wrap.kind === "trace" && wrap.onLine) return {
			kind: "trace",
			lines: true
		};
		return wrap;
	});
	for (const wrap of stored) if (wrap.kind === "tap" && !isTapped(host, wrap.path)) makeFile(wrap.path);
	if (i32[dev + Dev$7.wrapsBytes] !== 0) segment.free(i32[dev + Dev$7.wraps]);
	i32[dev + Dev$7.wrapsBytes] = 0;
	if (stored.length > 0) {
		const text = new TextEncoder().encode(JSON.stringify(stored));
		const at = host.allocate(text.length, "openDevice", 0);
		host.u8.set(text, at);
		i32[dev + Dev$7.wraps] = at;
		i32[dev + Dev$7.wrapsBytes] = text.length;
	}
	i32[dev + Dev$7.wrapsSerial] = i32[dev + Dev$7.wrapsSerial] + 1;
}
function storedAt(host, dev) {
	const length = host.i32[dev + Dev$7.wrapsBytes];
	if (length === 0) return [];
	const at = host.i32[dev + Dev$7.wraps];
	return JSON.parse(new TextDecoder().decode(host.u8.slice(at, at + length)));
}
/** Whether an open device of this process writes to the file. */
function isTapped(host, path) {
	for (let index = 0; index < maxDevices; index++) {
		const dev = host.deviceWord(index);
		if (host.i32[dev + Dev$7.users] > 0 && storedAt(host, dev).some((wrap) => wrap.kind === "tap" && wrap.path === path)) return true;
	}
	return false;
}
function makeFile(path) {
	try {
		closeSync(openSync(path, "w"));
	} catch (error) {
		throw new VerbsError("EINVAL", "openDevice", `the tap cannot be written: ${error.message}`);
	}
}
/** The chain of the device whose record is at `dev`, or null. */
function chainOf(host, dev, name, index) {
	const stored = storedAt(host, dev);
	if (stored.length === 0) return null;
	let channel = null;
	const chain = new Chain(stored.map((wrap) => {
		if (wrap.kind !== "trace") return wrap;
		if (!wrap.lines) return { kind: "trace" };
		channel ??= new BroadcastChannel(channelName(index));
		channel.unref();
		return {
			kind: "trace",
			onLine: (line) => channel?.postMessage(line)
		};
	}), {
		device: name,
		count: (counter) => host.count(index, counter),
		toWire: (packet) => packet.way.toWire(packet),
		toProgram: (packet) => packet.way.toProgram(packet)
	});
	if (channel !== null) channels.set(chain, channel);
	return chain;
}
/** Where the lines of a chain go. */
const channels = /* @__PURE__ */ new Map();
function closeChain(chain) {
	chain.close();
	const channel = channels.get(chain);
	channels.delete(chain);
	channel?.postMessage(null);
	channel?.close();
}
function channelName(index) {
	return `verbena trace ${process.pid} ${index}`;
}
/** Lines come until the device is closed, by whomever. */
function listenToLines(index, options) {
	const found = (options.wrap ?? []).flatMap((wrap) => wrap.kind === "trace" && wrap.onLine ? [wrap.onLine] : []);
	if (found.length === 0) return;
	const channel = new BroadcastChannel(channelName(index));
	channel.unref();
	channel.onmessage = (message) => {
		const line = message.data;
		if (line === null) channel.close();
		else for (const onLine of found) onLine(line);
	};
}
// src/devices/roce/sockets.ts
/**
* The sockets of one device in one thread: one for each GID, and one for each multicast group. Descriptors belong to the
* process; which there are is in a table (`SocketTable`), so that every thread can use them.
*
* Sending collects packets of one destination and one size in a burst that the kernel cuts (UDP_SEGMENT): they lie one
* behind the other, and only the last may be shorter. Receiving takes bursts that the kernel has put together (UDP_GRO).
*/
const { Av: Av$1, avMulticast: avMulticast$1 } = layout_exports;
/** TTL and hop limit that Linux gives packets unless told otherwise. */
const usualHopLimit = 64;
/** ECT(0), of the two ECN bits of a traffic class. What a program says itself stays. */
const ecnCapableTransport = 2;
/** Bytes of one burst, and packets in it, at most. */
const burstBytes = 63488;
const burstPackets = 64;
/** Room for what one call receives. */
const receiveBytes = 65536;
/** Calls that receive in one turn, at most. */
const maxReceives = 16;
/** More bytes than this in one call: there will be more. */
const muchBytes = 8192;
/** What one turn sends, at most: then what has come is looked at. */
const turnBytes = 524288;
var Sockets = class {
	transport;
	/** Whether packets say that routers may mark them when there is congestion: ECT(0). */
	set ecnCapable(yes) {
		this.#ect = yes ? ecnCapableTransport : 0;
	}
	#table;
	#locals;
	#attach;
	#i32;
	#f64;
	#u8;
	#txAt;
	#rxAt;
	#counters;
	#opens = [];
	#unicast = [];
	#generation = -1;
	/** The descriptors in the table, and of which of its states. */
	#fds = [];
	#listed = -1;
	#to = new Paths();
	#from = new Paths();
	#path = null;
	#ect = 0;
	#used = 0;
	#segment = 0;
	#packets = 0;
	#last = false;
	#trafficClass = 0;
	#hopLimit = 0;
	#sent = 0;
	#receives = 1;
	#fullTurns = 0;
	constructor(host, device, table, locals, attach) {
		useCrc32(nativeCrc32());
		this.#table = table;
		this.#locals = locals;
		this.#attach = attach;
		this.#i32 = host.i32;
		this.#f64 = host.f64;
		this.#u8 = host.u8;
		this.#txAt = host.segment.allocate(71680);
		this.#rxAt = host.segment.allocate(receiveBytes);
		this.#counters = countersOf(host, device);
	}
	#count(counter, by = 1) {
		this.#f64[counter] = this.#f64[counter] + by;
	}
	/**
	* Follows the table. Only inside an operation (`segment.enter`): a descriptor that is in the table then is closed, and
	* its number given to another file, only after the operation has ended.
	*/
	refresh() {
		const { generation } = this.#table;
		if (generation === this.#generation) return;
		this.#generation = generation;
		for (const { socket } of this.#opens) socket.close();
		this.#opens = [];
		this.#unicast = this.#locals.map(() => null);
		this.#to.clear();
		this.#from.clear();
		this.#path = null;
		for (let slot = 0; slot < 128; slot++) {
			const fd = this.#table.fd(slot);
			if (fd < 0) continue;
			const local = this.#i32[this.#table.word(slot) + Slot.local];
			const group = this.#table.group(slot);
			const socket = this.#attach(fd, slot, local, group);
			if (socket === null) continue;
			const gidWords = new Int32Array((group ?? gidOfIp(this.#locals[local].address)).slice().buffer);
			this.#opens.push({
				socket,
				slot,
				local,
				group,
				gidWords
			});
			if (group === null) this.#unicast[local] = socket;
		}
	}
	/**
	* Writes the descriptors that are in the table, for a thread that waits for them; how many there are. One that is closed
	* meanwhile ends the wait: `OpenSockets.closeSlot` sees to that.
	*/
	descriptors(into, from) {
		const { generation } = this.#table;
		if (generation !== this.#listed) {
			this.#listed = generation;
			this.#fds = this.#table.descriptors();
		}
		const fds = this.#fds;
		for (let i = 0; i < fds.length; i++) into[from + i] = fds[i];
		return fds.length;
	}
	open(av, lengthBytes) {
		const i32 = this.#i32;
		const total = lengthBytes + Icrc.length;
		const local = i32[av + Av$1.sgidIndex];
		let trafficClass = i32[av + Av$1.trafficClass];
		if ((trafficClass & 3) === 0) trafficClass |= this.#ect;
		const hopLimit = i32[av + Av$1.hopLimit];
		let path = this.#path;
		const gid = av + Av$1.gid;
		if (path === null || path.local !== local || path.words[3] !== i32[gid + 3] || path.words[2] !== i32[gid + 2] || path.words[1] !== i32[gid + 1] || path.words[0] !== i32[gid] || trafficClass !== this.#trafficClass || hopLimit !== this.#hopLimit) {
			if (this.#used > 0) this.flush();
			path = this.#to.find(i32, gid, local, 4791) ?? this.#newPath(av, local);
			this.#path = path;
			this.#trafficClass = trafficClass;
			this.#hopLimit = hopLimit;
		} else if (this.#used > 0 && (this.#last || total > this.#segment || this.#packets === burstPackets || this.#used + total > burstBytes)) this.flush();
		return this.#txAt + this.#used;
	}
	close(lengthBytes) {
		const path = this.#path;
		const total = lengthBytes + Icrc.length;
		if (path === null || path.socket === null) {
			this.#count(this.#counters.drops_no_path);
			return;
		}
		const at = this.#txAt + this.#used;
		path.flow.write(this.#u8, at, at + lengthBytes, path.socket.segmentation ? this.#packets : 0);
		if (this.#packets === 0) this.#segment = total;
		else if (total < this.#segment) this.#last = true;
		this.#packets++;
		this.#used += total;
	}
	flush() {
		const path = this.#path;
		const length = this.#used;
		const packets = this.#packets;
		this.#used = 0;
		this.#packets = 0;
		this.#last = false;
		if (length === 0 || path === null || path.socket === null) return;
		const { socket } = path;
		socket.setTrafficClass(this.#trafficClass);
		socket.setHopLimit(this.#hopLimit === usualHopLimit ? 0 : this.#hopLimit);
		let done = 0;
		while (done < length) {
			const sent = socket.send(this.#txAt + done, length - done, packets > 1 ? this.#segment : 0, path.destination);
			if (sent < 0) {
				this.#count(this.#counters.send_err);
				break;
			}
			done += sent;
			if (done < length && !socket.segmentation) this.#renumber(path, done, length);
		}
		this.#sent += done;
		this.#count(this.#counters.sent_pkts, done < length ? Math.floor(done / this.#segment) : packets);
		this.#count(this.#counters.sent_bytes, done);
	}
	/** The kernel has just refused to segment: the rest goes as single packets, whose identification is 0. */
	#renumber(path, from, end) {
		for (let at = from; at < end; at += this.#segment) {
			const stop = Math.min(at + this.#segment, end) - Icrc.length;
			path.flow.write(this.#u8, this.#txAt + at, this.#txAt + stop, 0);
		}
	}
	/** Whether this turn may send more. */
	get room() {
		return this.#sent < turnBytes;
	}
	beginTurn() {
		this.#sent = 0;
	}
	#newPath(av, local) {
		const socket = this.#unicast[local] ?? null;
		const here = this.#locals[local];
		if (socket === null || here === void 0) return null;
		const i32 = this.#i32;
		const gid = new Uint8Array(i32.buffer, (av + Av$1.gid) * 4, 16).slice();
		const group = (i32[av + Av$1.flags] & avMulticast$1) !== 0;
		const address = group ? groupAddress(gid, socket.family) : ipOfGid(gid);
		if (address.length !== here.address.length) return null;
		if (this.#to.full) {
			this.#to.clear();
			for (const open of this.#opens) open.socket.forgetDestinations();
		}
		let destination;
		try {
			if (group) socket.setMulticastInterface(here.ifindex);
			destination = socket.destination(address, rocePort);
		} catch {
			return null;
		}
		const flow = new IcrcFlow(here.address, address, rocePort);
		return this.#to.add(i32, av + Av$1.gid, local, rocePort, flow, socket, destination);
	}
	/** Gives the transport what has come, a batch at most; how many packets. */
	receive(nowNs) {
		let packets = 0;
		for (const open of this.#opens) {
			const { socket } = open;
			let turns = 0;
			for (; turns < this.#receives; turns++) {
				const bytes = socket.receive(this.#rxAt, receiveBytes);
				if (bytes < 0) break;
				packets += this.#burst(open, bytes, nowNs);
				if (bytes >= muchBytes && this.#receives < maxReceives) this.#receives++;
			}
			this.#adapt(turns);
		}
		return packets;
	}
	/** A call that finds nothing costs as much as one that brings a packet: ask as often as there was something lately. */
	#adapt(turns) {
		if (turns < this.#receives) {
			this.#receives = Math.max(1, turns);
			this.#fullTurns = 0;
		} else if (++this.#fullTurns >= 8 && this.#receives < maxReceives) {
			this.#receives++;
			this.#fullTurns = 0;
		}
	}
	#burst({ socket, slot, local, group, gidWords }, bytes, nowNs) {
		const { transport } = this;
		this.#count(this.#counters.rcvd_bytes, bytes);
		if (socket.kernelDrops !== 0) this.#dropped(slot, socket.kernelDrops);
		const { origin } = transport;
		const u8 = this.#u8;
		if (socket.truncated || bytes === 0) {
			this.#count(this.#counters.drops_malformed);
			return 1;
		}
		const key = group === null ? local : -1 - local;
		let path = this.#from.find(socket.sourceWords, 0, key, socket.sourcePort);
		if (path === null) {
			const flow = new IcrcFlow(ipOfGid(socket.source), group === null ? this.#locals[local].address : groupAddress(group, socket.family), socket.sourcePort);
			path = this.#from.add(socket.sourceWords, 0, key, socket.sourcePort, flow, null, -1);
		}
		for (let i = 0; i < 4; i++) {
			origin.source[i] = path.words[i];
			origin.destination[i] = gidWords[i];
		}
		origin.ipv4 = socket.family === 4;
		origin.trafficClass = socket.trafficClass;
		origin.hopLimit = socket.hopLimit;
		const segment = socket.segmentBytes;
		let packets = 0;
		for (let at = 0; at < bytes; at += segment) {
			const start = this.#rxAt + at;
			const end = this.#rxAt + Math.min(at + segment, bytes) - Icrc.length;
			packets++;
			if (end - start < Bth.length) this.#count(this.#counters.drops_malformed);
			else if (path.flow.check(u8, start, end) < 0) this.#count(this.#counters.icrc_errors);
			else transport.receive(start, end, nowNs);
		}
		return packets;
	}
	/** The kernel says how many datagrams a full buffer has cost since the socket was opened. */
	#dropped(slot, drops) {
		const word = this.#table.word(slot) + Slot.drops;
		const more = drops - this.#i32[word] | 0;
		if (more <= 0) return;
		this.#i32[word] = drops;
		this.#count(this.#counters.drops_socket_buffer, more);
	}
};
// src/devices/roce/shared-hosts.ts
/**
* The segments of devices that processes share: one for each device of a user in a network namespace, in which everything of
* the device is. The first process to open the device makes it, and it goes with the last one. Where the administrator has made a
* folder for a group of users, its members share theirs.
*/
/** By the name of the device. */
const hosts = /* @__PURE__ */ new Map();
/** Those of which a warning has said that they have none. */
const alone = /* @__PURE__ */ new Set();
/** The number of the network namespace in which ports of this process are; 0 where the system does not tell. */
function networkNamespace() {
	try {
		return /\[(\d+)\]/.exec(readlinkSync("/proc/self/ns/net"))?.[1] ?? "0";
	} catch {
		return "0";
	}
}
/**
* The group of users that share their devices, if `VERBENA_ROCE_GROUP` names one: a folder in /dev/shm that the administrator has
* made for it. Throws VerbsError: EINVAL if that is no name.
*/
function sharingGroup() {
	const { VERBENA_ROCE_GROUP: group = "" } = process.env;
	if (group === "") return null;
	if (/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/.test(group)) return group;
	throw new VerbsError("EINVAL", "openDevice", `VERBENA_ROCE_GROUP is the name of a folder in /dev/shm, not ${JSON.stringify(group)}`);
}
/** The name of the segment of a device; `shm:NAME` takes no such names. */
function sharedSegmentName(device) {
	const group = sharingGroup();
	return `${group === null ? "" : `${group}/`}${device}@${group ?? process.geteuid?.() ?? 0}.${networkNamespace()}`;
}
/** The host of a device that all processes of this user share; null where shared memory cannot be had, with a warning. */
function sharedHost(device) {
	const known = hosts.get(device);
	if (known !== void 0) return known;
	try {
		const host = hostOf(Segment.named(sharedSegmentName(device), segmentOptions()));
		hosts.set(device, host);
		reapDead(host);
		return host;
	} catch (error) {
		if (!(error instanceof SegmentError || error instanceof NativeError)) throw error;
		if (!alone.has(device)) process.emitWarning(`no other process can use ${device} while this one does: ${error.message}`, { code: "VERBENA_ROCE_ALONE" });
		alone.add(device);
		return null;
	}
}
process.on("exit", () => {
	for (const host of hosts.values()) reapOwn(host);
});
// src/devices/roce/port-in-use.ts
/** Why a device cannot have its port: which process has it, and why the two do not share the device. */
/** What is wrong, and what to do. */
function portInUse(wanted, address) {
	const where = `UDP port ${rocePort} of ${address.text} is in use`;
	const another = `use another address, such as ${otherThan(address.text)}`;
	const holder = holderOf(address);
	if (holder.kind === "kernel") return `${where} by the kernel's own RoCE, rdma_rxe: delete its link ('rdma link' lists them), or ${another}`;
	if (holder.kind === "other user") return `${where} by ${holder.text}: users share a device only as a group (VERBENA_ROCE_GROUP); end that one, or ${another}`;
	const overlapping = wanted.name === "roce" ? `roce:${address.text}` : "roce";
	if (mayHave(holder.pid, segmentFile(sharedSegmentName(overlapping)))) return `${where} by ${holder.text}, perhaps for the device ${overlapping}: open that, which is shared; end the other, or ${another}`;
	return `${where} by ${holder.text}, and ${whyNotShared(wanted)}; end that one, or ${another}`;
}
function whyNotShared({ isShared, isWrapped }) {
	if (isShared) return "it does not share the device: it is no program of Verbena, or it has the device with middleware, without koffi, with VERBENA_ROCE_SHARED=0, or with another /dev/shm";
	const because = "this one cannot share the device";
	if (!nativeAvailable) return `${because} without koffi (${nativeReason})`;
	if (isWrapped) return `${because}, because it wants middleware`;
	if (process.env.VERBENA_ROCE_SHARED === "0") return `${because}, because VERBENA_ROCE_SHARED is 0`;
	return `${because}, because it has no shared memory (the warning VERBENA_ROCE_ALONE says why)`;
}
/** Whether the process uses the segment; of one that is not known: whether anybody does. */
function mayHave(pid, file) {
	if (pid === 0) return existsSync(`/dev/shm/${file}`);
	try {
		return readFileSync(`/proc/${pid}/maps`, "latin1").includes(`/dev/shm/${file}`);
	} catch {
		return false;
	}
}
function holderOf({ address }) {
	const own = addressKey(address);
	const all = "0".repeat(own.length);
	const sockets = boundSockets(rocePort);
	const socket = sockets.find((each) => each.address === own) ?? sockets.find((each) => each.address === all || /^0+$/.test(each.address));
	if (socket === void 0) return {
		kind: "unknown",
		text: "another process",
		pid: 0
	};
	if (socket.inode === 0) return {
		kind: "kernel",
		text: "",
		pid: 0
	};
	if (socket.uid !== process.geteuid?.()) return {
		kind: "other user",
		text: `a process of user ${socket.uid}`,
		pid: 0
	};
	return {
		kind: "own user",
		...processWith(socket.inode)
	};
}
/** The process of this user that has the socket. */
function processWith(inode) {
	for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) try {
		for (const fd of readdirSync(`/proc/${pid}/fd`)) {
			if (linkOf(`/proc/${pid}/fd/${fd}`) !== `socket:[${inode}]`) continue;
			if (Number(pid) === process.pid) return {
				text: "this process",
				pid: process.pid
			};
			const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replace(/[\0\s]+/g, " ").trim();
			return {
				text: `process ${pid} (${command.length > 80 ? `${command.slice(0, 79)}…` : command})`,
				pid: Number(pid)
			};
		}
	} catch {}
	return {
		text: "a process of this user that is not seen here (of another container?)",
		pid: 0
	};
}
function linkOf(path) {
	try {
		return readlinkSync(path);
	} catch {
		return "";
	}
}
// src/devices/roce/open-sockets.ts
/**
* Opens and closes the sockets of a device: one for each address, and one for each multicast group. Their descriptors belong to
* the process and are stored in its table in its segment, so that all threads use the same ones. Where processes share a device,
* each has its own descriptors of the same sockets: the first opens them, and gives them to the others (sharing.ts). All this is
* under the control lock of the device's segment.
*/
const { Dev: Dev$6 } = layout_exports;
/** Sockets that this thread opened. */
const owned = /* @__PURE__ */ new Map();
var OpenSockets = class {
	#host;
	#i32;
	#owner;
	#table;
	constructor(host, table, owner) {
		this.#host = host;
		this.#i32 = host.i32;
		this.#owner = owner;
		this.#table = table;
	}
	/** Opens one for each address; if any cannot be opened, none is. The address whose port is in use, null if none is. */
	openAll() {
		for (const [local, address] of this.#owner.addresses.entries()) try {
			this.#open(local, address, slotKind.unicast, null);
		} catch (error) {
			this.closeAll();
			const failed = asVerbsError(error, this.#owner.name, "openDevice");
			if (failed instanceof VerbsError && failed.reason === "device-in-use") return address;
			throw failed;
		}
		return null;
	}
	/** What to say where the port of `address` is in use. It reads much of /proc. */
	portInUse(address) {
		const { name } = this.#owner;
		const isWrapped = this.#i32[this.#table.dev + Dev$6.wrapsBytes] > 0;
		return openError(name, "openDevice", "EADDRINUSE", portInUse({
			name,
			isShared: this.#table.isShared,
			isWrapped
		}, address));
	}
	/** Opens a socket whose descriptor goes into the table. */
	#open(local, address, kind, group) {
		this.#closeAbandoned();
		const table = this.#table;
		let slot = 0;
		while (table.isUsed(slot)) if (++slot === 128) throw new VerbsError("ENOMEM", verbOf(kind), `a device has 128 addresses and groups at most`);
		if (!nativeAvailable) {
			this.#askForSocket(slot, local, address, kind, group);
			return;
		}
		const family = address.address.length === 4 ? 4 : 6;
		const bound = group === null ? address.address : groupAddress(group, family);
		this.#closeStale(slot);
		const options = {
			address: bound,
			port: rocePort,
			scopeId: address.scopeId || (group ? address.ifindex : 0)
		};
		const opened = (fd) => this.#changing(fd);
		const socket = UdpSocket.open(this.#host.segment.buffer, {
			...options,
			reuseAddress: group !== null,
			opened
		});
		if (group !== null) try {
			socket.joinGroup(bound, address.ifindex);
		} catch (error) {
			opened(-1);
			socket.close();
			throw error;
		}
		const serial = this.#host.platform.randomInt(1, 2 ** 31 - 1);
		this.#keep(slot, socket.fd, serial);
		this.#enter(slot, local, kind, group, serial);
		opened(-1);
		owned.set(socket.fd, socket);
		table.changed(true);
	}
	/** The entry of the device. */
	#enter(slot, local, kind, group, serial) {
		const i32 = this.#i32;
		const word = this.#table.word(slot);
		i32[word + Slot.kind] = kind;
		i32[word + Slot.local] = local;
		i32[word + Slot.refs] = 1;
		i32[word + Slot.drops] = 0;
		if (group !== null) new Uint8Array(i32.buffer, (word + Slot.gid) * 4, 16).set(group);
		Atomics.store(i32, word + Slot.serial, serial);
	}
	/** The entry of this process. */
	#keep(slot, fd, serial) {
		const { ownI32 } = this.#table;
		const word = this.#table.ownWord(slot);
		ownI32[word + Slot.fd] = fd + 1;
		if (this.#table.isShared) Atomics.store(ownI32, word + Slot.serial, serial);
	}
	/** Remembers a descriptor beyond the end of this thread, which may come at any moment; −1: none any more. */
	#changing(fd) {
		this.#table.ownI32[this.#table.own + Slot.changing] = fd + 1;
	}
	/** Has the thread that drives devices open a socket of node:dgram, and waits for it. */
	#askForSocket(slot, local, address, kind, group) {
		const i32 = this.#i32;
		const word = this.#table.word(slot);
		i32[word + Slot.state] = datagramState.asked;
		this.#keep(slot, slot, 1);
		this.#enter(slot, local, kind, group, 1);
		this.#table.changed(true);
		const state = this.#awaitState(word, datagramState.asked);
		if (state === datagramState.bound) {
			warnOfIdentification(address);
			return;
		}
		this.#drop(slot);
		i32[word + Slot.fd] = 0;
		this.#table.changed(true);
		const code = state < 0 ? errnoName(-state) : "ETIMEDOUT";
		throw openError(this.#owner.name, verbOf(kind), code, state < 0 ? advice({
			code,
			message: code
		}, address.text, rocePort) : "the thread that drives devices does not respond");
	}
	/** Waits until the state of a socket of node:dgram is another one, at most 10 s; what it is then. */
	#awaitState(word, from) {
		const i32 = this.#i32;
		const { segment } = this.#host;
		for (let waited = 0; waited < 2e3 && Atomics.load(i32, word + Slot.state) === from; waited++) {
			this.#owner.wakeService();
			segment.wait(word + Slot.state, from, 5);
		}
		return Atomics.load(i32, word + Slot.state);
	}
	/** The device has no such socket any more. */
	#drop(slot) {
		this.#i32[this.#table.word(slot) + Slot.serial] = 0;
	}
	/** Closes all that are open, for all: nobody uses the device any more. */
	closeAll() {
		this.#closeAbandoned();
		for (let slot = 0; slot < 128; slot++) this.closeSlot(slot);
	}
	/** Takes a socket away; other processes that have it close theirs when they see that. */
	closeSlot(slot) {
		const table = this.#table;
		const word = table.word(slot);
		if (nativeAvailable) {
			const fd = table.ownI32[table.ownWord(slot) + Slot.fd] - 1;
			if (fd >= 0) this.#changing(fd);
			if (table.isUsed(slot)) {
				this.#drop(slot);
				table.changed(true);
			}
			if (fd >= 0) this.#closeOwn(slot, fd);
		} else if (table.isUsed(slot)) {
			this.#drop(slot);
			table.ownI32[table.ownWord(slot) + Slot.fd] = 0;
			table.changed(true);
			this.#awaitState(word, datagramState.bound);
		}
	}
	#closeOwn(slot, fd) {
		const { ownI32 } = this.#table;
		const own = this.#table.ownWord(slot);
		this.#changing(fd);
		ownI32[own + Slot.fd] = 0;
		if (this.#table.isShared) ownI32[own + Slot.serial] = 0;
		this.#giveBack(fd);
	}
	/** Closes the socket that a thread was opening or closing when it ended, which holds the port. Under the control lock. */
	#closeAbandoned() {
		const { ownI32, own } = this.#table;
		const fd = ownI32[own + Slot.changing] - 1;
		if (fd < 0) return;
		for (let slot = 0; slot < 128; slot++) {
			const word = this.#table.ownWord(slot);
			if (ownI32[word + Slot.fd] !== fd + 1) continue;
			if (this.#table.fd(slot) === fd) return;
			ownI32[word + Slot.fd] = 0;
		}
		this.#giveBack(fd);
	}
	#giveBack(fd) {
		this.#table.changed(false);
		this.#host.segment.quiesce();
		awaitService();
		this.#owner.awaitSleeper();
		const socket = owned.get(fd);
		owned.delete(fd);
		this.#changing(-1);
		if (socket) socket.close();
		else closeFd(fd);
	}
	/** Opens the socket of a multicast group. */
	openGroup(gid) {
		try {
			this.#open(0, this.#owner.addresses[0], slotKind.group, gid);
		} catch (error) {
			throw asVerbsError(error, this.#owner.name, "attachMcast");
		}
	}
	/** Takes what another process has given, as far as it is missing here, and closes the rest; whether all are there now. */
	adopt(given) {
		this.#closeAbandoned();
		const table = this.#table;
		const missing = table.missing();
		for (const { fd, tag } of given) {
			const slot = missing.find((each) => this.#i32[table.word(each) + Slot.serial] === tag && table.fd(each) < 0);
			if (slot === void 0) closeFd(fd);
			else {
				this.#closeStale(slot);
				this.#keep(slot, fd, tag);
				table.changed(false);
			}
		}
		return table.missing().length === 0;
	}
	/** Opens those of groups anew that this process lacks, since nobody has them any more. */
	reopenMissing() {
		for (const slot of this.#table.missing()) {
			const group = this.#table.group(slot);
			if (group === null) continue;
			const refs = this.#i32[this.#table.word(slot) + Slot.refs];
			this.closeSlot(slot);
			this.openGroup(group);
			this.#i32[this.#table.word(this.#table.slotOfGroup(group)) + Slot.refs] = refs;
		}
	}
	/** Closes what this process has of sockets that the device has no more; of all, if the process does not use it any more. */
	closeOwn(all) {
		this.#closeAbandoned();
		for (let slot = 0; slot < 128; slot++) if (all || this.#table.fd(slot) < 0) this.#closeStale(slot);
	}
	#closeStale(slot) {
		const fd = this.#table.ownI32[this.#table.ownWord(slot) + Slot.fd] - 1;
		if (fd >= 0) this.#closeOwn(slot, fd);
	}
};
let warned = false;
/** Without system calls the identification of IPv4 packets is the kernel's, and goes into their ICRC. */
function warnOfIdentification(address) {
	if (warned || address.loopback || address.address.length !== 4) return;
	warned = true;
	process.emitWarning(`roce uses node:dgram (${nativeReason}): over IPv4 only Verbena accepts its packets, because their ICRC does not match the identification that the kernel gives them. Adapters and Soft-RoCE can be reached over IPv6, or with koffi installed.`, { code: "VERBENA_ROCE_DGRAM" });
}
function verbOf(kind) {
	return kind === slotKind.group ? "attachMcast" : "openDevice";
}
function asVerbsError(error, name, verb) {
	return error instanceof NativeError ? openError(name, verb, error.code, error.message) : error;
}
const openErrorCodes = [
	"EADDRINUSE",
	"EACCES",
	"ENOMEM",
	"EINVAL",
	"EOPNOTSUPP",
	"ETIMEDOUT"
];
function openError(name, verb, code, message) {
	const known = openErrorCodes.includes(code) ? code : "ENODEV";
	const error = new VerbsError(known, verb, `${name}: ${message}`);
	if (known === "EADDRINUSE" && verb === "openDevice") error.reason = "device-in-use";
	return error;
}
// src/devices/roce/users.ts
/**
* Who uses a device, and its sockets with that. One rule, under the control lock of its segment: a context counts as a user from the
* moment its process has the device's sockets until it closes, or its thread ends. The first user opens them and the last one closes
* them; a process gets them from one that has them, and closes its descriptors with its own last user. A thread that fails or
* dies on its way has never been a user, so the next one starts over.
*/
const { Ctx: Ctx$3, Dev: Dev$5, Meta: Meta$3 } = layout_exports;
/**
* A thread of this or another process may be about to close what it had, or what it has just been given. It gets so many pauses to do
* so, and not a time: on a busy machine it gets as little of the processor as this one.
*/
const mostPauses = 125;
const pauseMs = 2;
/** So long the processes that have a device open have to give this one its sockets; and so long one of them has to answer. */
const givingMs = 5e3;
const answerMs = 1e3;
/** What `VERBENA_CONGESTION_CONTROL` says. */
function congestionOfEnvironment() {
	const { VERBENA_CONGESTION_CONTROL: value = "" } = process.env;
	if (value === "") return void 0;
	if (value === "0") return false;
	if (value === "1") return true;
	throw new VerbsError("EINVAL", "openDevice", `VERBENA_CONGESTION_CONTROL is 0 or 1, not ${JSON.stringify(value)}`);
}
var DeviceUsers = class {
	#host;
	#index;
	#dev;
	#name;
	#table;
	#sockets;
	/** Where processes share it: those that have its sockets. */
	#holders;
	constructor(host, index, table, owner) {
		this.#host = host;
		this.#index = index;
		this.#dev = host.deviceWord(index);
		this.#name = owner.name;
		this.#table = table;
		this.#holders = host === processHost() ? null : new Holders(host, index);
		this.#sockets = new OpenSockets(host, table, owner);
	}
	/** Whether other processes may use it, too. */
	get shared() {
		return this.#holders !== null;
	}
	/** Makes a context a user. Throws VerbsError: EADDRINUSE, EBUSY, ETIMEDOUT and others of opening sockets. */
	join(context, options) {
		const wraps = wrapsWanted(options);
		const congestion = options.congestionControl ?? congestionOfEnvironment();
		const began = nowNs();
		for (let pauses = 0;;) {
			const lacks = this.#join(context, wraps, congestion, options.wrap !== void 0);
			if (lacks === null) break;
			if (lacks !== "descriptors") {
				if (!this.shared || ++pauses > mostPauses) throw this.#sockets.portInUse(lacks);
				sleepUntilNs(nowNs() + pauseMs * 1e6);
				continue;
			}
			if (nowNs() - began > givingMs * 1e6) throw openError(this.#name, "openDevice", "ETIMEDOUT", "a process that has it open does not give this one its sockets: it is stopped, or very busy");
			if (!this.#fetch(answerMs)) sleepUntilNs(nowNs() + pauseMs * 1e6);
		}
		this.#changed();
	}
	/**
	* Begins to use it, if this process has its sockets or nobody does: null. Else what this lacks: descriptors of its sockets, or the
	* port of an address, which is in use.
	*/
	#join(context, wraps, congestion, wrapped) {
		const host = this.#host;
		const { i32 } = host;
		return host.control(() => {
			if (this.#countUsers() === 0) {
				this.#sockets.closeAll();
				putWraps(host, this.#dev, wraps);
				i32[this.#dev + Dev$5.congestion] = congestion ? 1 : 0;
				i32[this.#dev + Dev$5.alone] = wraps.length > 0 || !nativeAvailable ? 1 : 0;
				const taken = this.#sockets.openAll();
				if (taken !== null) return taken;
			} else {
				this.#checkOpen(wrapped, congestion);
				if (this.#table.missing().length > 0) return "descriptors";
			}
			i32[host.ctxWord(context) + Ctx$3.uses] = 1;
			this.#countUsers();
			return null;
		});
	}
	/** Throws if what is asked for is not what the first user has decided; what is undefined is not asked for. */
	#checkOpen(wrapped, congestion) {
		if (wrapped) throw new VerbsError("EBUSY", "openDevice", `${this.#name} is open already: the first to open it can wrap it`);
		if (congestion !== void 0 && congestion !== (this.#host.i32[this.#dev + Dev$5.congestion] === 1)) throw new VerbsError("EBUSY", "openDevice", `${this.#name} is open already ${congestion ? "without" : "with"} congestion control: the first to open it decides`);
	}
	/**
	* Closes the sockets if nobody uses the device any more, or nobody of this process: the last user has closed it, or its thread
	* has ended.
	*/
	closeUnused() {
		const host = this.#host;
		host.control(() => {
			host.segment.releaseDead(this.#dev + Dev$5.sleeper);
			host.segment.releaseDead(this.#dev + Dev$5.looper);
			if (this.#countUsers() === 0) this.#sockets.closeAll();
			else if (this.shared && this.#ownUsers === 0) this.#sockets.closeOwn(true);
		});
		this.#changed();
	}
	/** Counts the users, those of this process, and how many of them leave the work to a thread; how many users. */
	#countUsers() {
		const host = this.#host;
		const { i32 } = host;
		let users = 0;
		let own = 0;
		let threads = 0;
		for (let context = 0; context < i32[host.at.meta + Meta$3.contextsUsed]; context++) {
			const c = host.ctxWord(context);
			if (i32[c + Ctx$3.state] === 0 || i32[c + Ctx$3.device] !== this.#index || i32[c + Ctx$3.uses] === 0) continue;
			const owner = i32[c + Ctx$3.owner];
			if (!host.segment.attachmentAlive(owner)) continue;
			users++;
			if (host.segment.isOwn(owner)) own++;
			threads += i32[c + Ctx$3.engine];
		}
		const { ownI32, ownDev } = this.#table;
		Atomics.store(i32, this.#dev + Dev$5.threads, threads);
		if (!this.shared) {
			if (ownI32[ownDev + Dev$5.shared] !== 1) ownI32[ownDev + Dev$5.users] = users;
		} else {
			i32[this.#dev + Dev$5.users] = users;
			if (own > 0 || ownI32[ownDev + Dev$5.shared] === 1) {
				ownI32[ownDev + Dev$5.users] = own;
				ownI32[ownDev + Dev$5.shared] = own > 0 ? 1 : 0;
			}
		}
		return users;
	}
	/** Users of this process, as they were last counted. */
	get #ownUsers() {
		const { ownI32, ownDev } = this.#table;
		return ownI32[ownDev + Dev$5.shared] === 1 ? ownI32[ownDev + Dev$5.users] : 0;
	}
	/** Wakes the service threads of all processes that use the device. */
	wakeOthers() {
		this.#holders?.wake();
	}
	/** Changes when a process begins or ends to use it, or the sockets become others. */
	get changes() {
		return Atomics.load(this.#host.i32, this.#dev + Dev$5.changes);
	}
	#changed() {
		if (this.#holders === null) return;
		Atomics.add(this.#host.i32, this.#dev + Dev$5.changes, 1);
		this.#holders.wake();
	}
	/** Takes descriptors of the sockets from another process; false if none gives any within the time. */
	#fetch(timeoutMs) {
		const take = (given) => {
			this.#host.control(() => this.#sockets.adopt(given));
		};
		const isAttached = (pid) => this.#host.segment.attachedPids().has(pid);
		for (const key of this.#holders?.others() ?? []) try {
			if (fetchDescriptors(keyText(key), timeoutMs, take, isAttached).length > 0) return true;
		} catch (error) {
			if (!(error instanceof NativeError) || error.code === "EMFILE") throw error;
		}
		return false;
	}
	/**
	* For the service thread: closes what this process does not need any more, and gets what it lacks; false if it has to be
	* tried again. The thread that it asks may be asking this one at the same time: neither waits for long, nor as long as the other.
	*/
	bringInLine() {
		const missing = () => this.#host.control(() => {
			this.#countUsers();
			this.#sockets.closeOwn(this.#ownUsers === 0);
			return this.#ownUsers > 0 && this.#table.missing().length > 0;
		});
		if (!missing()) return true;
		try {
			return this.#fetch(2 + Math.random() * 20) && !missing();
		} catch {
			return false;
		}
	}
	/** The socket of a group went with the process that had opened it, before others had it: there is another one from now on. */
	reopenMissing() {
		this.#host.control(() => this.#sockets.reopenMissing());
		this.#changed();
	}
	joinGroup(gid) {
		const host = this.#host;
		const table = this.#table;
		const { i32 } = host;
		host.control(() => {
			const slot = table.slotOfGroup(gid);
			if (slot < 0) this.#sockets.openGroup(gid);
			else i32[table.word(slot) + Slot.refs] = i32[table.word(slot) + Slot.refs] + 1;
		});
		this.#changed();
	}
	leaveGroup(gid) {
		const host = this.#host;
		const table = this.#table;
		const { i32 } = host;
		host.control(() => {
			const slot = table.slotOfGroup(gid);
			if (slot < 0) return;
			const refs = table.word(slot) + Slot.refs;
			i32[refs] = i32[refs] - 1;
			if (i32[refs] === 0) this.#sockets.closeSlot(slot);
		});
		this.#changed();
	}
};
// src/devices/roce/wrapped-socket.ts
/** A socket under middleware: every packet goes through the chain by itself, on its way out and in. */
/** Packets that have come but were not taken yet, at most. */
const mostWaiting = 65536;
/** Bytes of the longest packet. */
const roomBytes = 65536;
var WrappedSocket = class {
	segmentation = false;
	segmentBytes = 0;
	trafficClass = 0;
	hopLimit = 0;
	truncated = false;
	sourcePort = 0;
	source;
	sourceWords;
	#inner;
	#chain;
	#u8;
	/** Where packets that are not in the segment are put to be sent. */
	#room;
	/** GID of this end; of a socket of a multicast group the group's. */
	#local;
	#port;
	#packet = new Packet();
	#gids = [];
	#trafficClass = 0;
	#hopLimit = 0;
	#arrived = [];
	#flow = null;
	#flowKey = "";
	#refused = 0;
	#open = true;
	#lost;
	/**
	* `room` is the offset of 64 KiB in the segment whose bytes are `u8`. `lost` is called for each packet that was held
	* when the socket closed.
	*/
	constructor(inner, chain, u8, room, local, port, lost) {
		this.#lost = lost;
		this.#inner = inner;
		this.#chain = chain;
		this.#u8 = u8;
		this.#room = room;
		this.#local = local;
		this.#port = port;
		this.sourceWords = /* @__PURE__ */ new Uint32Array(4);
		this.source = new Uint8Array(this.sourceWords.buffer);
	}
	get fd() {
		return this.#inner.fd;
	}
	get family() {
		return this.#inner.family;
	}
	get kernelDrops() {
		return this.#inner.kernelDrops;
	}
	send(at, length, segmentBytes, destination) {
		const step = segmentBytes > 0 ? segmentBytes : length;
		this.#refused = 0;
		for (let done = 0; done < length; done += step) {
			const packet = this.#packet;
			packet.outbound = true;
			packet.bytes = this.#u8;
			packet.start = at + done;
			packet.end = at + Math.min(done + step, length);
			packet.source = this.#local;
			packet.destination = this.#gids[destination];
			packet.sourcePort = this.#port;
			packet.trafficClass = this.#trafficClass;
			packet.hopLimit = this.#hopLimit;
			packet.identification = 0;
			packet.timeNs = nowNs();
			packet.way = this;
			this.#chain.send(packet);
		}
		return this.#refused < 0 ? this.#refused : length;
	}
	/** The far end of the chain. */
	toWire(packet) {
		if (!this.#open) {
			this.#lost();
			return;
		}
		const length = packet.end - packet.start;
		let at = packet.start;
		if (packet.bytes !== this.#u8) {
			at = this.#room;
			this.#u8.set(packet.bytes.subarray(packet.start, packet.end), at);
		}
		const inner = this.#inner;
		inner.setTrafficClass(packet.trafficClass);
		inner.setHopLimit(packet.hopLimit);
		const sent = inner.send(at, length, 0, inner.destination(ipOfGid(packet.destination), this.#port));
		if (sent < 0) this.#refused = sent;
	}
	destination(address, port) {
		const index = this.#inner.destination(address, port);
		this.#gids[index] = gidOfIp(address);
		return index;
	}
	forgetDestinations() {
		this.#inner.forgetDestinations();
		this.#gids.length = 0;
	}
	setTrafficClass(value) {
		this.#trafficClass = value;
	}
	setHopLimit(value) {
		this.#hopLimit = value;
	}
	setMulticastInterface(interfaceIndex) {
		this.#inner.setMulticastInterface(interfaceIndex);
	}
	receive(at, capacity) {
		const inner = this.#inner;
		while (this.#arrived.length === 0) {
			const bytes = inner.receive(at, capacity);
			if (bytes < 0) return bytes;
			if (inner.truncated) {
				this.truncated = true;
				return bytes;
			}
			for (let from = at; from < at + bytes; from += inner.segmentBytes) this.#take(from, Math.min(from + inner.segmentBytes, at + bytes));
			if (inner.segmentBytes === 0) this.#take(at, at);
		}
		const packet = this.#arrived.shift();
		const length = packet.end - packet.start;
		if (length > capacity) return -errnos.EMSGSIZE;
		this.#u8.set(packet.bytes.subarray(packet.start, packet.end), at);
		this.segmentBytes = length;
		this.trafficClass = packet.trafficClass;
		this.hopLimit = packet.hopLimit;
		this.truncated = false;
		this.sourcePort = packet.sourcePort;
		this.source.set(packet.source);
		return length;
	}
	#take(start, end) {
		const inner = this.#inner;
		const packet = this.#packet;
		packet.outbound = false;
		packet.bytes = this.#u8;
		packet.start = start;
		packet.end = end;
		packet.source = inner.source;
		packet.destination = this.#local;
		packet.sourcePort = inner.sourcePort;
		packet.trafficClass = inner.trafficClass;
		packet.hopLimit = inner.hopLimit;
		packet.identification = end - start >= 16 ? this.#flowOf(inner).check(this.#u8, start, end - 4) : -1;
		packet.timeNs = nowNs();
		packet.way = this;
		this.#chain.receive(packet);
	}
	/** The near end of the chain. */
	toProgram(packet) {
		if (this.#open && this.#arrived.length < mostWaiting) this.#arrived.push(packet.copy());
		else this.#lost();
	}
	#flowOf({ source, sourcePort }) {
		const key = `${source.join()} ${sourcePort}`;
		if (this.#flow === null || key !== this.#flowKey) {
			this.#flow = new IcrcFlow(ipOfGid(source), ipOfGid(this.#local), sourcePort);
			this.#flowKey = key;
		}
		return this.#flow;
	}
	/** Whether packets wait that no descriptor tells of. */
	get waiting() {
		return this.#arrived.length > 0;
	}
	close() {
		this.#open = false;
		for (const _ of this.#arrived) this.#lost();
		this.#arrived = [];
		this.#inner.close();
	}
};
// src/devices/roce/device.ts
/**
* Adapters on UDP port 4791: RoCEv2 from plain sockets, without privileges. `roce:ADDRESS` is an adapter on one address of
* this host, `roce` one on all of them, with a GID for each. All processes of a user share it: it lives in a segment of its own
* (shared-hosts.ts), and each process has descriptors of its sockets. With middleware, or without koffi, it is in the
* segment of one process, which has it alone.
*
* A thread that polls, posts or waits drives the adapter; while none does, a thread of one of the processes does (service.ts), so
* that a peer's READ gets its response while the program computes. With `engine: 'thread'` that thread executes all requests.
*/
const { Chan, Ctx: Ctx$2, Dev: Dev$4, Meta: Meta$2 } = layout_exports;
/** A thread that waits in the kernel cannot be ended from outside before that is over. */
const longestSleepMs = 250;
/** Duplicate address detection takes one or two seconds; with unusual settings more. */
const longestDetectionNs = 5e9;
/** A thread that has blocked has the service thread look if that would not within this time. */
const soonNs = 8e6;
/**
* How many bytes of one connection may be in flight: a part of what a socket's buffer holds, taking the peer's for one like ours.
* Only root gets as much as it asks for.
*/
function windowBytes() {
	const most = 524288;
	if (process.geteuid?.() === 0) return most;
	try {
		const limit = Number(readFileSync("/proc/sys/net/core/rmem_max", "latin1"));
		return Math.min(most, Math.max(65536, limit / 2));
	} catch {
		return 131072;
	}
}
var RoceDevice = class extends NetworkDevice {
	#sockets;
	#addresses;
	#dev;
	#meta;
	/** Its sockets. */
	table;
	/** Who uses it. */
	users;
	/** Middleware, in the thread that drives: for which time that it was wrapped, and its sockets. */
	#chain = null;
	#chainSerial = 0;
	#generation = -1;
	/** For the service thread: whether a program has driven it since it looked last. */
	active = false;
	/** This thread's event loop waits for its packets. */
	#inLoop;
	/** `Bells.goneOn` when it last said that it waits. */
	#goneOn = -1;
	/** Sockets in which packets may wait that no descriptor tells of. */
	#waiting = /* @__PURE__ */ new Set();
	#room = 0;
	constructor(host, name, addresses) {
		const index = recordOf(host, addresses, name === "roce");
		const home = processHost();
		const own = host === home ? index : recordOf(home, addresses, name === "roce");
		const gids = addresses.map((address, gidIndex) => ({
			gid: gidOfIp(address.address),
			gidIndex,
			portNum: 1,
			gidType: GidType.RoceV2,
			ndevIfindex: address.ifindex
		}));
		const dev = host.deviceWord(index);
		const table = new SocketTable({
			host,
			index
		}, {
			host: home,
			index: own
		});
		const sockets = new Sockets(host, index, table, addresses, (...socket) => this.#attach(...socket));
		const options = { windowBytes: windowBytes() };
		super(host, {
			name,
			index,
			guid: guidOf(addresses[0]),
			gids,
			activeMtu: addresses[0].roceMtu,
			options
		}, sockets);
		sockets.transport = this.transport;
		this.#sockets = sockets;
		this.#addresses = addresses;
		this.#dev = dev;
		this.#meta = host.at.meta;
		this.table = table;
		const owner = {
			name,
			addresses,
			wakeService: () => this.#wakeService(),
			awaitSleeper: () => this.#awaitSleeper()
		};
		this.users = new DeviceUsers(host, index, table, owner);
	}
	/** Whether other processes may use it, too. */
	get shared() {
		return this.users.shared;
	}
	open(context, options) {
		startService();
		for (const address of this.#addresses) awaitAddress(this.name, address);
		this.users.join(context, options);
		listenToLines(this.index, options);
		wakeService(processHost());
		this.#wakeService();
		awaitOwner(this.host);
	}
	close(context) {
		const { host, i32 } = this;
		i32[host.ctxWord(context) + Ctx$2.uses] = 0;
		this.#leaveLoop();
		this.closeUnused();
		wakeService(processHost());
		this.#wakeService();
		if (i32[this.#dev + Dev$4.users] === 0) this.#awaitUnwrapped();
	}
	closeUnused() {
		this.users.closeUnused();
	}
	/** Until the file of a tap is complete. */
	#awaitUnwrapped() {
		const { i32 } = this;
		const closed = this.#dev + Dev$4.wrapsClosed;
		for (let waited = 0; waited < 200; waited++) {
			const seen = Atomics.load(i32, closed);
			if (i32[this.#dev + Dev$4.wrapsBytes] === 0 || seen === i32[this.#dev + Dev$4.wrapsSerial]) return;
			this.host.segment.wait(closed, seen, 5);
		}
	}
	joinGroup(gid) {
		this.users.joinGroup(gid);
		this.#wakeService();
	}
	leaveGroup(gid) {
		this.users.leaveGroup(gid);
		this.#wakeService();
	}
	nowNs() {
		return nowNs();
	}
	receive(now) {
		return this.#sockets.receive(now);
	}
	flush() {
		this.#sockets.flush();
	}
	get repliesLate() {
		return this.i32[this.#dev + Dev$4.looper] === this.host.segment.lockValue;
	}
	room() {
		return this.#sockets.room;
	}
	/** Whether this thread must leave the device to another. */
	get #leaves() {
		return this.i32[this.#dev + Dev$4.alone] !== 0 && true;
	}
	entered() {
		if (mustNotDrive()) return false;
		this.#follow();
		this.#chain?.advance(nowNs());
		return true;
	}
	/** Follows what was opened and closed; inside an operation. */
	#follow() {
		const { generation } = this.table;
		if (generation !== this.#generation) {
			this.#generation = generation;
			this.#waiting.clear();
			const congestion = this.i32[this.#dev + Dev$4.congestion] === 1;
			this.transport.congestionControl = congestion;
			this.#sockets.ecnCapable = congestion;
		}
		this.#sockets.refresh();
	}
	drive(look) {
		if (this.#leaves) return 0;
		this.#sockets.beginTurn();
		return super.drive(look);
	}
	takeOver() {
		if (this.#leaves) return;
		this.#sockets.beginTurn();
		super.takeOver();
	}
	progress() {
		if (this.#leaves) return;
		this.i32[this.#dev + Dev$4.heartbeat] = 1;
		this.drive(true);
	}
	settle() {
		super.settle();
		this.#tellTimekeeper();
	}
	/** Timers run also while the program computes: the thread that waits must know of an earlier one. */
	#tellTimekeeper() {
		const { i32 } = this;
		const { f64 } = this.host;
		const dev = this.#dev;
		const next = this.transport.nextDeadlineNs;
		if (i32[dev + Dev$4.sleeper] !== 0) {
			if (next < f64[dev + Dev$4.sleepsUntil >> 1]) this.#wakeSleeper();
		} else if (i32[dev + Dev$4.watched] !== 0 && next < f64[dev + Dev$4.serviceLooksAt >> 1]) this.#callService();
	}
	/** For the thread that drives devices: their descriptors, and when it must look again. */
	descriptors(into, from) {
		return this.#sockets.descriptors(into, from);
	}
	get nextDeadlineNs() {
		const next = this.transport.nextDeadlineNs;
		return this.#chain === null ? next : Math.min(next, this.#chain.nextDeadlineNs);
	}
	get busy() {
		return this.transport.pending || this.#packetsWait();
	}
	#packetsWait() {
		for (const socket of this.#waiting) if (socket.waiting) return true;
		return false;
	}
	#attach(fd, slot, local, group) {
		const { address, scopeId } = this.#addresses[local];
		const port = nativeAvailable ? null : portAt(this.table.word(slot));
		if (port === null && !nativeAvailable) return null;
		const socket = port ?? UdpSocket.adopt(this.host.segment.buffer, fd, address.length === 4 ? 4 : 6, scopeId);
		if (port !== null) this.#waiting.add(port);
		const chain = this.#chainNow();
		if (chain === null) return socket;
		if (this.#room === 0) this.#room = this.host.segment.allocate(roomBytes);
		const wrapped = new WrappedSocket(socket, chain, this.host.u8, this.#room, group ?? gidOfIp(address), rocePort, () => this.host.count(this.index, "drops_no_path"));
		this.#waiting.add(wrapped);
		return wrapped;
	}
	#chainNow() {
		const serial = this.i32[this.#dev + Dev$4.wrapsSerial];
		if (serial !== this.#chainSerial) {
			this.#dropChain();
			this.#chainSerial = serial;
			this.#chain = chainOf(this.host, this.#dev, this.name, this.index);
		}
		return this.#chain;
	}
	#dropChain() {
		if (this.#chain !== null) closeChain(this.#chain);
		this.#chain = null;
		this.#waiting.clear();
	}
	/** For the thread that drives devices, when it has nothing to do. */
	flushWraps() {
		this.#chain?.flush();
	}
	/** For the thread that drives devices, when nobody has this one open any more. */
	retire() {
		const { segment } = this.host;
		segment.enterNow();
		try {
			this.#follow();
		} finally {
			segment.leave();
		}
		this.#dropChain();
		this.#chainSerial = 0;
	}
	/** Whether a program drives it, or will as soon as something comes. */
	isDriven() {
		const { i32 } = this;
		const { segment } = this.host;
		const dev = this.#dev;
		if (i32[dev + Dev$4.threads] > 0 || i32[dev + Dev$4.alone] !== 0) return false;
		this.active = Atomics.exchange(i32, dev + Dev$4.heartbeat, 0) === 1;
		if (this.active) return true;
		if (Atomics.load(i32, dev + Dev$4.sleeper) === 0 && !this.looped) return false;
		if (this.drive(true) === 0 && !this.busy) return true;
		segment.releaseDead(dev + Dev$4.sleeper);
		Atomics.store(i32, dev + Dev$4.looper, 0);
		return false;
	}
	/** Whether an event loop waits for its packets. */
	get looped() {
		return Atomics.load(this.i32, this.#dev + Dev$4.looper) !== 0;
	}
	/** Whether the program that drove it has just stopped, and no other waits. */
	get rests() {
		return Atomics.load(this.i32, this.#dev + Dev$4.heartbeat) === -1;
	}
	get watched() {
		return this.i32[this.#dev + Dev$4.watched] === 1;
	}
	/** The service thread keeps its timers, and looks at `until`. */
	watch(until) {
		this.host.f64[this.#dev + Dev$4.serviceLooksAt >> 1] = until;
		Atomics.store(this.i32, this.#dev + Dev$4.watched, 1);
	}
	unwatch() {
		Atomics.store(this.i32, this.#dev + Dev$4.watched, 0);
	}
	rest(inLoop) {
		if (inLoop && this.#waitInLoop()) return;
		const { i32 } = this;
		const looped = this.#leaveLoop();
		Atomics.store(i32, this.#dev + Dev$4.heartbeat, -1);
		if (looped || this.busy || i32[this.#dev + Dev$4.watched] === 0) this.#callService();
	}
	/** Has the kernel ring for this thread's event loop when packets come; false if another thread has to take them. */
	#waitInLoop() {
		const { i32 } = this;
		const { segment } = this.host;
		const dev = this.#dev;
		if (i32[dev + Dev$4.alone] !== 0 || i32[dev + Dev$4.threads] > 0) return false;
		if (this.busy) this.drive(true);
		if (this.busy) return false;
		if (this.acksWait) this.drive(false);
		const { parking } = segment;
		segment.enterNow();
		let waits = false;
		try {
			waits = parking.watchInLoop(sleeperFds, this.descriptors(sleeperFds, 0));
		} finally {
			segment.leave();
		}
		if (!waits) return false;
		Atomics.store(i32, dev + Dev$4.looper, segment.lockValue);
		this.#goneOn = parking.bells.goneOn;
		if (this.#inLoop === void 0) {
			this.#inLoop = {
				rung: () => this.#rung(),
				waitsOn: () => this.#waitsOn()
			};
			parking.bells.listen(this.#inLoop);
		}
		this.#tellTimekeeper();
		return true;
	}
	#rung() {
		if (this.host.segment.parking.bells.waits) {
			if (this.i32[this.#dev + Dev$4.users] > 0) this.progress();
		} else if (Atomics.load(this.i32, this.#dev + Dev$4.looper) === this.host.segment.lockValue) this.rest(false);
	}
	#waitsOn() {
		const { bells } = this.host.segment.parking;
		if (bells.goneOn === this.#goneOn && this.i32[this.#dev + Dev$4.users] > 0) this.rest(true);
	}
	/** This thread's event loop does not wait any more; whether it did. */
	#leaveLoop() {
		const { lockValue } = this.host.segment;
		return Atomics.compareExchange(this.i32, this.#dev + Dev$4.looper, lockValue, 0) === lockValue;
	}
	/**
	* A thread that waits does so on the sockets, and goes on by itself when something comes: no other has to wake it. Of several
	* that wait for one device, one does that for all.
	*/
	sleep(channel, expected, timeoutMs) {
		const { i32 } = this;
		const { f64, segment } = this.host;
		const dev = this.#dev;
		if (i32[dev + Dev$4.alone] !== 0 || i32[dev + Dev$4.threads] > 0) return false;
		const { parking } = segment;
		if (Atomics.compareExchange(i32, dev + Dev$4.sleeper, 0, segment.lockValue) !== 0) return false;
		if (this.acksWait) this.drive(false);
		f64[dev + Dev$4.sleepsUntil >> 1] = Number.POSITIVE_INFINITY;
		parking.beginWait();
		const next = this.nextDeadlineNs;
		f64[dev + Dev$4.sleepsUntil >> 1] = next;
		const count = this.descriptors(sleeperFds, 0);
		if (Atomics.load(i32, channel + Chan.sequence) === expected && !this.busy) {
			const ms = Math.min(timeoutMs, longestSleepMs, Math.max(0, (next - nowNs()) / 1e6));
			sleeperParkings[0] = parking;
			waitReadable(sleeperParkings, sleeperFds, count, ms);
		}
		parking.endWait();
		i32[dev + Dev$4.heartbeat] = 1;
		i32[dev + Dev$4.sleeps] = i32[dev + Dev$4.sleeps] + 1 & 2147483647;
		Atomics.store(i32, dev + Dev$4.sleeper, 0);
		if (f64[this.#meta + Meta$2.serviceLooksAt >> 1] - nowNs() > soonNs) this.#callService();
		return true;
	}
	#wakeSleeper() {
		this.host.segment.wakeOwner(this.#dev + Dev$4.sleeper);
	}
	wakeThread() {
		this.#callService();
	}
	/** Wakes the thread that drives devices while programs do not; if that of another process has just ended, all that may follow it. */
	#callService() {
		if (!wakeService(this.host)) this.users.wakeOthers();
	}
	#wakeService() {
		this.#callService();
		this.#wakeSleeper();
	}
	/** Until nobody waits in the kernel for packets of a socket that is to be closed: that would keep it, and its port. */
	#awaitSleeper() {
		const { i32 } = this;
		const sleeper = this.#dev + Dev$4.sleeper;
		const sleeps = i32[this.#dev + Dev$4.sleeps];
		this.host.segment.endPollRequests();
		for (let waited = 0; waited < 1e3; waited++) {
			this.#wakeSleeper();
			const who = Atomics.load(i32, sleeper);
			if (who === 0 || i32[this.#dev + Dev$4.sleeps] !== sleeps) return;
			this.host.segment.wait(sleeper, who, .2);
			this.host.segment.releaseDead(sleeper);
		}
	}
};
/** What a thread waits for. */
const sleeperFds = /* @__PURE__ */ new Int32Array(129);
const sleeperParkings = [];
/** An IPv6 address that has just been given cannot be bound yet: waits until the kernel knows that no other host has it. */
function awaitAddress(name, address) {
	const until = nowNs() + longestDetectionNs;
	let state = stateOfAddress(address);
	for (; state === "tentative" && nowNs() < until; state = stateOfAddress(address)) sleepUntilNs(nowNs() + 2e7);
	if (state === "usable") return;
	throw new VerbsError("ENODEV", "openDevice", `${name}: ${state === "duplicate" ? `another host of the network has ${address.text} already ('ip address' says dadfailed): give this one another` : `the kernel still asks whether another host has ${address.text} ('ip address' says tentative): try again`}`);
}
// src/devices/roce/driver.ts
/** RoCE devices by name: `roce` and `roce:ADDRESS`. */
const { Dev: Dev$3 } = layout_exports;
/** By name: those in the segment of this process, and those that processes share. */
const devices$1 = {
	alone: /* @__PURE__ */ new Map(),
	shared: /* @__PURE__ */ new Map()
};
/** All devices that are open in this process, in this thread's own objects. */
function openDevices() {
	const host = processHost();
	const open = [];
	for (const index of usedRecords(host)) {
		const dev = host.deviceWord(index);
		const name = nameOf$1(host, dev);
		const device = name === null ? null : find(name, () => host.i32[dev + Dev$3.shared] === 1);
		if (device) open.push(device);
	}
	return open;
}
/** By the name that was asked for. */
const addressesKnown = /* @__PURE__ */ new Map();
function find(name, isShared) {
	const addresses = addressesKnown.get(name) ?? addressesOf(name);
	if (addresses.length === 0) return null;
	addressesKnown.set(name, addresses);
	const canonical = name === "roce" ? name : `roce:${addresses[0].text}`;
	const host = isShared(addresses) ? sharedHost(canonical) : null;
	const known = host === null ? devices$1.alone : devices$1.shared;
	const device = known.get(canonical) ?? new RoceDevice(host ?? processHost(), canonical, addresses);
	known.set(canonical, device);
	return device;
}
tellOpenDevices(openDevices);
process.on("worker", (worker) => worker.once("exit", () => {
	for (const device of ending ? [] : openDevices()) {
		if (!device.shared) continue;
		reapDead(device.host);
		device.closeUnused();
	}
}));
/** Whether it is opened as the one that processes share: as it is open in this process, or unless it has to be alone. */
function mayShare(addresses, all, options) {
	if (!nativeAvailable || process.env.VERBENA_ROCE_SHARED === "0") return false;
	const host = processHost();
	const dev = host.deviceWord(recordOf(host, addresses, all));
	return host.i32[dev + Dev$3.users] > 0 ? host.i32[dev + Dev$3.shared] === 1 : wrapsWanted(options).length === 0;
}
function open$1(name, options) {
	if (name !== "roce" && !name.startsWith("roce:")) return null;
	const device = find(name, (addresses) => mayShare(addresses, name === "roce", options));
	if (device) return device;
	throw new VerbsError("ENODEV", "openDevice", `'${name}': this host has no such address; it has ${hostAddresses().map(({ text }) => text).join(", ") || "none"} and 127.x.y.z`);
}
function list$1() {
	const all = hostAddresses();
	const one = (name, address) => ({
		name,
		guid: guidOf(address),
		kind: "roce"
	});
	const found = all.map((address) => one(`roce:${address.text}`, address));
	for (const { name, attr } of openDevices()) if (name !== "roce" && !found.some((info) => info.name === name)) found.push({
		name,
		guid: attr.nodeGuid,
		kind: "roce"
	});
	return all.length > 0 ? [one("roce", all[0]), ...found] : [];
}
/** What a process that ends has goes with it. */
function at(host, index) {
	if (ending) return null;
	for (const known of [devices$1.alone, devices$1.shared]) for (const device of known.values()) if (device.host === host && device.index === index) return device;
	const dev = host.deviceWord(index);
	if (host !== processHost() || host.i32[dev + Dev$3.state] !== 1919902565 || host.i32[dev + Dev$3.shared] === 1) return null;
	const name = nameOf$1(host, dev);
	return name === null ? null : find(name, () => false);
}
const roceDriver = {
	kind: "roce",
	list: list$1,
	open: open$1,
	at
};
// src/devices/shm/thread-data.ts
const threads = {
	janitor: {
		entry: entryModule(import.meta.url, "./janitor"),
		name: "verbena janitor"
	},
	"engine-thread": {
		entry: entryModule(import.meta.url, "./engine-thread"),
		name: "verbena engine"
	}
};
function startDeviceThread(module, data) {
	const { entry, name } = threads[module];
	const worker = startThread(entry, {
		workerData: data,
		name
	});
	worker.unref();
	return worker;
}
// src/devices/shm/engines.ts
const { Ctx: Ctx$1 } = layout_exports;
/** By segment and context. */
const engines = /* @__PURE__ */ new Map();
const idleEngines = /* @__PURE__ */ new Map();
const engineFailures = /* @__PURE__ */ new WeakMap();
function startEngine(segment) {
	const worker = startDeviceThread("engine-thread", { segment });
	worker.on("error", (error) => engineFailures.set(worker, error));
	return worker;
}
/** Gives a context an engine thread, pinned to `cores` if there are any, and waits until it serves. */
function serveContext(host, context, cores) {
	const { i32, segment } = host;
	const c = host.ctxWord(context);
	const idle = idleEngines.get(segment.name) ?? [];
	idleEngines.set(segment.name, idle);
	const worker = idle.pop() ?? startEngine(segment.name);
	engines.set(`${segment.name}/${context}`, worker);
	worker.postMessage({
		context,
		cores
	});
	for (let waited = 0; Atomics.load(i32, c + Ctx$1.doorbellReady) === 0; waited++) {
		if (waited > 1e3) throw new VerbsError("ETIMEDOUT", "openDevice", `the engine thread did not start within 10 s${engineFailures.has(worker) ? `: ${engineFailures.get(worker)}` : ""}`);
		segment.wait(c + Ctx$1.doorbellReady, 0, 10);
	}
}
/** Takes a context from its engine thread, which can serve another one then. */
function releaseContext(host, context) {
	const { i32, segment } = host;
	const key = `${segment.name}/${context}`;
	const worker = engines.get(key);
	if (!engines.delete(key) || !worker) return;
	const c = host.ctxWord(context);
	Atomics.store(i32, c + Ctx$1.doorbellStop, 1);
	Atomics.add(i32, c + Ctx$1.doorbellWake, 1);
	segment.notify(c + Ctx$1.doorbellWake);
	for (let waited = 0; Atomics.load(i32, c + Ctx$1.doorbellReady) === 1; waited++) {
		if (waited > 200) return;
		segment.wait(c + Ctx$1.doorbellReady, 1, 10);
	}
	idleEngines.get(segment.name)?.push(worker);
}
// src/devices/shm/fast-path.ts
/**
* The usual message, executed in one function: a SEND or WRITE, with or without immediate, of one scatter/gather
* element, from an empty send queue of a connected QP to a peer that is ready. Everything else goes through the send
* queue and the executor.
*
* It is fast because it remembers where things are (the peer's rings, its CQ, the regions of the last keys) for as long
* as the segment's epoch is the same, and because it takes hardly a lock:
*
* - The send queue belongs to the thread that posted first (`Qp.bias`); another thread that posts ends that, until one
*   thread alone has posted for a while.
* - The peer's receive queue has one sender, this one. All others that touch it have changed a state first and waited for
*   a grace period. So its lock is taken only where entering an operation needs the barrier; see memory/segment.ts.
* - The same holds for the CQ while that QP's receive side is its only producer.
*
* Fields are plain and the function is long on purpose: each call and each private name costs about a nanosecond here.
*/
const { Cq, Cqe: Cqe$1, Key: Key$2, Qp: Qp$10, Rwqe: Rwqe$1, Sg: Sg$2 } = layout_exports;
/** What the last look-up of a key gave: addresses from `low` to `high` are at `delta` from the segment's. */
var CachedRange = class {
	key = 0;
	low = 0;
	high = 0;
	delta = 0;
};
/** Status, opcode and flags of the receiver's completion, for each send opcode that makes one. */
const recvWhat = /* @__PURE__ */ new Int32Array(4);
recvWhat[Opcode.Send] = packWhat(WcStatus.Success, WcOpcode.Recv, 0);
recvWhat[Opcode.SendWithImm] = packWhat(WcStatus.Success, WcOpcode.Recv, WcFlag.WithImm);
recvWhat[Opcode.WriteWithImm] = packWhat(WcStatus.Success, WcOpcode.RecvRdmaWithImm, WcFlag.WithImm);
/** Flags that change nothing here: every request is finished before the next, so that a fence has nothing to wait for. */
const usualFlags = SendFlag.Signaled | SendFlag.Solicited | SendFlag.Inline | SendFlag.Fence;
var ShmFastPath = class {
	host;
	executor;
	i32;
	f64;
	copy;
	copyOrdered;
	q;
	me;
	lockValue;
	operation;
	epochWord;
	/** The epoch for which the following is true; 0 before the first look. */
	epoch = 0;
	/** The epoch for which this QP was found to be no case for this. */
	unusualEpoch = 0;
	peerLock;
	/** Whether no lock is needed on the peer's receive queue. */
	free = false;
	/** Whether nothing at all has to be locked or woken. */
	plain = false;
	d = 0;
	ring = 0;
	mask = 0;
	stride = 0;
	rqHeadSeen = 0;
	peerNumber = 0;
	/** Only written: the first word of the next receive, read early so that its line is in this core's cache in time. */
	ahead = 0;
	/** Whether the request that was just executed found the send CQ full. */
	overran = false;
	/** Requests that went through the queue since another thread had used it. */
	alone = 0;
	canWrite = false;
	cq = 0;
	cqRing = 0;
	cqMask = 0;
	cqSize = 0;
	cqAlone = false;
	cqChannel = false;
	sendCq = 0;
	sigAll = false;
	maxSendWr = 0;
	maxInline = 0;
	sizeBytes;
	heapStart;
	source = new CachedRange();
	target = new CachedRange();
	remote = new CachedRange();
	constructor(host, executor, q) {
		this.host = host;
		this.executor = executor;
		this.i32 = host.i32;
		this.f64 = host.f64;
		this.q = q;
		this.lockValue = host.segment.lockValue;
		this.me = host.segment.me;
		this.copy = host.segment.copy;
		this.copyOrdered = host.segment.copyOrdered;
		this.operation = host.segment.operationWord;
		this.epochWord = host.segment.epochWord;
		this.sizeBytes = host.segment.sizeBytes;
		this.heapStart = host.segment.heapStart;
		this.peerLock = q + Qp$10.rqLock;
	}
	post(wr) {
		const { i32, q } = this;
		const { opcode } = wr;
		const flags = wr.sendFlags;
		if (typeof flags !== "number" || (flags & ~usualFlags) !== 0 || i32[this.epochWord] !== this.epoch) return false;
		const list = wr.sgList;
		if (!Array.isArray(list) || list.length !== 1 || list[0] == null) return false;
		const sge = list[0];
		if (typeof sge.addr !== "number" || typeof sge.lkey !== "number" || (flags !== 0 || this.sigAll) && typeof wr.wrId !== "number" || opcode !== Opcode.Send && typeof wr.immData !== "number") return false;
		const { length } = sge;
		const head = i32[q + Qp$10.sqHead];
		if ((head - i32[q + Qp$10.sqTail] | 0) >= this.maxSendWr || length <= 0 || (length | 0) !== length) return false;
		if (this.plain && (opcode === Opcode.Send || opcode === Opcode.SendWithImm) && (flags & SendFlag.Inline) === 0) return this.send(wr, opcode, flags, sge, length, head);
		if (opcode !== Opcode.Send && opcode !== Opcode.SendWithImm && opcode !== Opcode.Write && opcode !== Opcode.WriteWithImm || opcode <= Opcode.WriteWithImm && (typeof wr.remoteAddr !== "number" || typeof wr.rkey !== "number")) return false;
		this.mark();
		const done = (this.free || Atomics.compareExchange(i32, this.peerLock, 0, this.lockValue) === 0) && this.locked(wr, opcode, flags, sge, length, head);
		this.mark();
		if (this.overran) this.flushOverrun();
		return done;
	}
	/** A SEND where nothing has to be locked: what `locked` does, with all checks in one place. */
	send(wr, opcode, flags, sge, length, head) {
		const { i32, f64, q, d, cq, operation, source, target } = this;
		const operations = i32[operation];
		i32[operation] = operations + 1 | 0;
		const tail = i32[d + Qp$10.rqTail];
		const r = this.ring + (tail & this.mask) * this.stride;
		const produced = i32[cq + Cq.head];
		const e = this.cqRing + (produced & this.cqMask) * Cqe$1.words;
		if (i32[this.epochWord] === this.epoch) i32[e + Cqe$1.claim] = produced;
		const from = sge.addr;
		const to = f64[r + Rwqe$1.data >> 1];
		if (i32[this.epochWord] !== this.epoch || i32[q + Qp$10.sqNext] !== head || (sge.lkey | 0) !== source.key || !(from >= source.low && from + length <= source.high) || (this.rqHeadSeen - tail | 0) <= 0 || i32[r + Rwqe$1.sges] !== 1 || i32[r + Rwqe$1.data + Sg$2.length] < length || i32[r + Rwqe$1.data + Sg$2.lkey] !== target.key || !(to >= target.low && to + length <= target.high) || (produced - i32[cq + Cq.tailSeen] | 0) >= this.cqSize) {
			const done = this.locked(wr, opcode, flags, sge, length, head);
			i32[operation] = operations + 2 | 0;
			if (this.overran) this.flushOverrun();
			return done;
		}
		const t = to + target.delta;
		const f = from + source.delta;
		if (length === 8 && ((t | f) & 3) === 0) {
			const a = t >> 2;
			const b = f >> 2;
			i32[a] = i32[b];
			i32[a + 1] = i32[b + 1];
		} else this.copy(t, f, length);
		i32[e + Cqe$1.what] = recvWhat[opcode];
		f64[e + Cqe$1.wrId >> 1] = f64[r + Rwqe$1.wrId >> 1];
		i32[e + Cqe$1.byteLen] = length;
		i32[e + Cqe$1.immData] = opcode === Opcode.Send ? 0 : wr.immData;
		i32[e + Cqe$1.qpNum] = this.peerNumber;
		i32[e + Cqe$1.srcQpOrReleases] = 0;
		i32[d + Qp$10.rqTail] = tail + 1 | 0;
		i32[e + Cqe$1.rqTail] = tail + 1 | 0;
		const next = produced + 1 | 0;
		i32[e + Cqe$1.sequence] = next;
		i32[cq + Cq.head] = next;
		this.finish(wr, flags, head, WcOpcode.Send);
		i32[operation] = operations + 2 | 0;
		this.ahead = i32[this.ring + (tail + 1 & this.mask) * this.stride];
		if (this.overran) this.flushOverrun();
		return true;
	}
	/** Enters or leaves the operation. */
	mark() {
		const { i32, operation } = this;
		if (processorOrders) i32[operation] = i32[operation] + 1 | 0;
		else Atomics.add(i32, operation, 1);
	}
	/** The peer's receive lock, where it is needed, is held on entry, and given back. */
	locked(wr, opcode, flags, sge, length, head) {
		const { i32, f64, q, d, source } = this;
		const epoch = this.epoch;
		if (this.host.segment.observe(this.epochWord) !== epoch || i32[q + Qp$10.sqNext] !== head) return this.giveUp();
		let from = sge.addr;
		if ((flags & SendFlag.Inline) !== 0) {
			if (length > this.maxInline || !(from >= this.heapStart && from + length <= this.sizeBytes)) return this.giveUp();
		} else {
			if ((sge.lkey | 0) !== source.key || !(from >= source.low && from + length <= source.high)) {
				if (!this.find(source, sge.lkey | 0, i32[q + Qp$10.pd], 0, -1, from, length)) return this.giveUp();
			}
			from += source.delta;
		}
		let to = 0;
		if (opcode <= Opcode.WriteWithImm) {
			const { remote } = this;
			to = wr.remoteAddr;
			if (!this.canWrite) return this.giveUp();
			if ((wr.rkey | 0) !== remote.key || !(to >= remote.low && to + length <= remote.high)) {
				if (!this.find(remote, wr.rkey | 0, i32[d + Qp$10.pd], Access.RemoteWrite, this.host.qpSlot(d), to, length)) return this.giveUp();
			}
			to += remote.delta;
			if (opcode === Opcode.Write) {
				this.copyOrdered(to, from, length);
				this.unlock();
				this.finish(wr, flags, head, WcOpcode.Write);
				return true;
			}
		}
		const tail = i32[d + Qp$10.rqTail];
		if ((this.rqHeadSeen - tail | 0) <= 0) {
			this.rqHeadSeen = Atomics.load(i32, d + Qp$10.rqHead);
			if (tail === this.rqHeadSeen) return this.giveUp();
		}
		const r = this.ring + (tail & this.mask) * this.stride;
		if (opcode >= Opcode.Send) {
			const { target } = this;
			if (i32[r + Rwqe$1.sges] !== 1 || i32[r + Rwqe$1.data + Sg$2.length] < length) return this.giveUp();
			to = f64[r + Rwqe$1.data >> 1];
			const lkey = i32[r + Rwqe$1.data + Sg$2.lkey];
			if (lkey !== target.key || !(to >= target.low && to + length <= target.high)) {
				if (!this.find(target, lkey, i32[d + Qp$10.pd], Access.LocalWrite, -1, to, length)) return this.giveUp();
			}
			to += target.delta;
		}
		const { cq } = this;
		if (!this.cqAlone && Atomics.compareExchange(i32, cq + Cq.lock, 0, this.lockValue) !== 0) return this.giveUp();
		if (i32[cq + Cq.ring] !== this.cqRing) {
			if (!this.cqAlone) this.host.segment.unlock(cq + Cq.lock);
			return this.giveUp();
		}
		const produced = i32[cq + Cq.head];
		if ((produced - i32[cq + Cq.tailSeen] | 0) >= this.cqSize) {
			const seen = Atomics.load(i32, cq + Cq.tail);
			i32[cq + Cq.tailSeen] = seen;
			if ((produced - seen | 0) >= this.cqSize) {
				if (!this.cqAlone) this.host.segment.unlock(cq + Cq.lock);
				return this.giveUp();
			}
		}
		if (opcode < Opcode.Send) this.copyOrdered(to, from, length);
		else if (length === 8 && ((to | from) & 3) === 0) {
			const t = to >> 2;
			const f = from >> 2;
			i32[t] = i32[f];
			i32[t + 1] = i32[f + 1];
		} else this.copy(to, from, length);
		const e = this.cqRing + (produced & this.cqMask) * Cqe$1.words;
		i32[e + Cqe$1.what] = recvWhat[opcode];
		f64[e + Cqe$1.wrId >> 1] = f64[r + Rwqe$1.wrId >> 1];
		i32[e + Cqe$1.byteLen] = length;
		i32[e + Cqe$1.immData] = opcode === Opcode.Send ? 0 : wr.immData;
		i32[e + Cqe$1.qpNum] = this.peerNumber;
		i32[e + Cqe$1.srcQpOrReleases] = 0;
		i32[d + Qp$10.rqTail] = tail + 1 | 0;
		i32[e + Cqe$1.rqTail] = tail + 1 | 0;
		const next = produced + 1 | 0;
		if (processorOrders && !this.cqChannel) i32[e + Cqe$1.sequence] = next;
		else Atomics.store(i32, e + Cqe$1.sequence, next);
		i32[cq + Cq.head] = next;
		if (!this.cqAlone) this.host.segment.unlock(cq + Cq.lock);
		this.unlock();
		if (this.cqChannel) this.host.fireIfArmed(cq, (flags & SendFlag.Solicited) !== 0);
		this.finish(wr, flags, head, opcode >= Opcode.Send ? WcOpcode.Send : WcOpcode.Write);
		this.ahead = i32[this.ring + (tail + 1 & this.mask) * this.stride];
		return true;
	}
	unlock() {
		if (this.free) return;
		if (processorOrders) this.i32[this.peerLock] = 0;
		else Atomics.store(this.i32, this.peerLock, 0);
	}
	giveUp() {
		this.unlock();
		return false;
	}
	/** The request is done: its place in the send queue, and its completion if it is signaled. */
	finish(wr, flags, head, opcode) {
		const { i32, q } = this;
		const after = head + 1 | 0;
		i32[q + Qp$10.sqHead] = after;
		i32[q + Qp$10.sqNext] = after;
		if ((flags & SendFlag.Signaled) === 0 && !this.sigAll) return;
		if (!this.host.complete(this.sendCq, wr.wrId, WcStatus.Success, opcode, 0, 0, 0, q, after, false)) this.overran = true;
	}
	/** The send CQ was full: the QP ends, as it does after `Host.completeSend`. In no operation, and without a lock. */
	flushOverrun() {
		this.overran = false;
		this.executor.overran(this.q);
	}
	/** Looks a key up and remembers its range if it permits this access; as `Host.resolve` does. */
	find(known, key, pd, access, qp, addr, length) {
		const at = this.host.resolve(key, pd, addr, length, access, qp);
		if (at < 0) return false;
		const entry = this.host.findKey(key);
		const { f64 } = this;
		known.key = key;
		known.low = f64[entry + Key$2.iova >> 1];
		known.high = known.low + f64[entry + Key$2.length >> 1];
		known.delta = at - addr;
		return true;
	}
	prepare() {
		const { i32, q, host } = this;
		const epoch = Atomics.load(i32, this.epochWord);
		if (i32[q + Qp$10.bias] === -1 && ++this.alone >= 256) {
			this.alone = 0;
			i32[q + Qp$10.bias] = this.me;
		} else if (epoch === this.epoch || epoch === this.unusualEpoch) return;
		this.epoch = 0;
		if (!this.refreshCache()) {
			this.unusualEpoch = epoch;
			return;
		}
		for (const known of [
			this.source,
			this.target,
			this.remote
		]) {
			known.key = 0;
			known.low = 0;
			known.high = -1;
		}
		if (i32[q + Qp$10.bias] === 0) i32[q + Qp$10.bias] = host.segment.me;
		this.epoch = epoch;
	}
	refreshCache() {
		const { i32, q, host } = this;
		const type = i32[q + Qp$10.type];
		const bias = i32[q + Qp$10.bias];
		if (type !== QpType.RC && type !== QpType.UC || i32[q + Qp$10.engine] !== 0 || i32[q + Qp$10.state] !== QpState.Rts) return false;
		if (bias !== 0 && bias !== this.me || i32[q + Qp$10.sqNext] !== i32[q + Qp$10.sqHead]) return false;
		const d = this.executor.peer(q);
		if (d < 0 || i32[d + Qp$10.srq] >= 0) return false;
		const cq = host.cqWord(i32[d + Qp$10.recvCq]);
		if (i32[cq + Cq.state] !== cqState.live) return false;
		this.d = d;
		this.peerLock = d + Qp$10.rqLock;
		this.free = host.segment.entersFreely();
		this.peerNumber = i32[d + Qp$10.number];
		this.rqHeadSeen = i32[d + Qp$10.rqTail];
		this.ring = i32[d + Qp$10.rqRing];
		this.mask = i32[d + Qp$10.rqMask];
		this.stride = i32[d + Qp$10.rqStride];
		this.canWrite = (i32[d + Qp$10.accessFlags] & Access.RemoteWrite) !== 0;
		this.cq = cq;
		this.cqRing = i32[cq + Cq.ring];
		this.cqMask = i32[cq + Cq.mask];
		this.cqSize = i32[cq + Cq.cqe];
		this.cqAlone = i32[cq + Cq.refs] === 1 && i32[cq + Cq.resizing] === 0;
		this.cqChannel = i32[cq + Cq.channel] >= 0;
		this.plain = this.free && this.cqAlone && !this.cqChannel;
		this.sendCq = host.cqWord(i32[q + Qp$10.sendCq]);
		this.sigAll = i32[q + Qp$10.sqSigAll] === 1;
		this.maxSendWr = i32[q + Qp$10.maxSendWr];
		this.maxInline = i32[q + Qp$10.maxInlineData];
		return true;
	}
};
// src/devices/shm/peer.ts
/** The other end of a connection: which QP it is, and what of its memory a request may touch. */
const { Qp: Qp$9, Wqe: Wqe$5 } = layout_exports;
/** The connected peer if it can take requests, or −1. */
function peerOf(host, q) {
	const { i32 } = host;
	const number = i32[q + Qp$9.destQpNum];
	let d = host.qpWord(i32[q + Qp$9.destSlot]);
	if (i32[d + Qp$9.number] !== number) {
		d = host.findQp(number);
		if (d < 0) return -1;
		i32[q + Qp$9.destSlot] = host.qpSlot(d);
	}
	if (!canRespond(host, d)) return -1;
	if (i32[d + Qp$9.type] !== i32[q + Qp$9.type] || i32[d + Qp$9.device] !== i32[q + Qp$9.destDevice] || i32[d + Qp$9.destQpNum] !== i32[q + Qp$9.number]) return -1;
	return d;
}
/** Whether a QP is in a state in which requests reach it: RTR, RTS, SQD or SQE. */
function canRespond(host, d) {
	const state = host.i32[d + Qp$9.state];
	return state >= QpState.Rtr && state !== QpState.Err;
}
/** Where in the segment the remote range of a one-sided request at `w` lies, or −1 if the peer does not permit it. */
function remoteRange(host, w, d, length, access) {
	const { i32, f64 } = host;
	const addr = f64[w + Wqe$5.remoteAddr >> 1];
	return host.resolve(i32[w + Wqe$5.rkey], i32[d + Qp$9.pd], addr, length, access, host.qpSlot(d));
}
// src/devices/shm/datagrams.ts
/**
* Datagrams: SENDs of a UD QP, to one QP or to all of a multicast group. Whatever the network or the receiver may do to
* them, the sender's completion says success: a datagram that cannot be delivered is dropped and counted.
*
* The receiver's buffers begin with 40 bytes for the global route header (GRH), which are written if the address handle
* asks for one; the payload follows.
*/
const { Av, avGlobal, avMulticast, Cqe, Dev: Dev$2, Meta: Meta$1, Qp: Qp$8, Wqe: Wqe$4 } = layout_exports;
var Datagrams = class {
	#host;
	#mtu;
	#adapters;
	#ranges;
	#receives;
	#failures;
	/** Where GRHs are put together. */
	#grh;
	#gsi;
	/** Where the beginning of a management datagram is put together. */
	#mad;
	/** `adapters`: how many devices of the segment, from the first on, are of this kind. */
	constructor(host, mtu, adapters, ranges, receives, failures) {
		this.#host = host;
		this.#mtu = mtu;
		this.#adapters = adapters;
		this.#ranges = ranges;
		this.#receives = receives;
		this.#failures = failures;
		this.#grh = host.segment.allocate(40 + madDispatchBytes);
		this.#mad = this.#grh + 40;
		this.#gsi = new GsiDispatch(host);
	}
	send(q, w) {
		const host = this.#host;
		const { i32 } = host;
		const total = this.#ranges.gather(q, w, 0);
		if (total < 0) return WcStatus.LocProtErr;
		if (total > this.#mtu) return WcStatus.LocLenErr;
		const av = w + Wqe$4.av;
		if ((i32[av + Av.flags] & avMulticast) !== 0) {
			this.#multicast(q, w, total);
			return WcStatus.Success;
		}
		const number = i32[w + Wqe$4.remoteQpn];
		if (number === 1) {
			this.#management(q, w, i32[av + Av.device], total);
			return WcStatus.Success;
		}
		const d = host.findQp(number);
		if (d < 0 || i32[d + Qp$8.device] !== i32[av + Av.device]) host.count(i32[q + Qp$8.device], "drops_no_qp");
		else this.#deliver(q, w, d, total);
		return WcStatus.Success;
	}
	#multicast(q, w, total) {
		const host = this.#host;
		const { i32 } = host;
		const gid = w + Wqe$4.av + Av.gid;
		const high = i32[host.at.meta + Meta$1.mcastHigh];
		let delivered = 0;
		for (let i = 0; i < high; i++) {
			const d = mcastMember(host, i, i32, gid, 0, this.#adapters);
			if (d < 0) continue;
			this.#deliver(q, w, d, total);
			delivered++;
		}
		if (delivered === 0) host.count(i32[q + Qp$8.device], "drops_no_qp");
	}
	/** A management datagram, to the one that QP 1 of the device stands for here. */
	#management(q, w, device, total) {
		const { u8 } = this.#host;
		if (device < 0) {
			this.#host.count(this.#host.i32[q + Qp$8.device], "drops_no_qp");
			return;
		}
		const at = this.#ranges.peek(this.#mad, madDispatchBytes);
		const found = this.#gsi.find(device, u8, at, total);
		for (let i = 0; i < found; i++) this.#deliver(q, w, this.#gsi.targets[i], total);
	}
	/** One datagram to one QP: what cannot be delivered is dropped and counted at the receiver. */
	#deliver(q, w, d, total) {
		const { segment } = this.#host;
		segment.lock(d + Qp$8.rqLock);
		this.#deliverLocked(q, w, d, total);
		segment.unlock(d + Qp$8.rqLock);
	}
	#deliverLocked(q, w, d, total) {
		const host = this.#host;
		const receives = this.#receives;
		const { i32 } = host;
		const device = i32[d + Qp$8.device];
		const type = i32[d + Qp$8.type];
		if (!(type === QpType.UD || type === QpType.GSI && i32[w + Wqe$4.remoteQpn] === 1) || !canRespond(host, d)) {
			host.count(device, "drops_no_qp");
			return;
		}
		const qkey = i32[w + Wqe$4.remoteQkey];
		if ((qkey < 0 ? i32[q + Qp$8.qkey] : qkey) !== i32[d + Qp$8.qkey]) {
			host.count(device, "ud_drops_qkey");
			Atomics.add(i32, host.deviceWord(device) + Dev$2.qkeyViolations, 1);
			return;
		}
		const r = receives.take(d, 40 + total);
		if (r === -1 || r === -2) {
			host.count(device, r === -1 ? "ud_drops_no_receive" : "ud_drops_length");
			return;
		}
		const sender = i32[q + Qp$8.type] === QpType.GSI ? 1 : i32[q + Qp$8.number];
		const placed = receives.scatter(d, r, 40 + total);
		if (placed !== WcStatus.Success) {
			receives.fail(d, r, placed, sender);
			return;
		}
		const cq = host.cqWord(i32[d + Qp$8.recvCq]);
		const e = host.reserve(cq);
		if (e < 0) {
			this.#failures.overran(d);
			return;
		}
		const av = w + Wqe$4.av;
		const withGrh = (i32[av + Av.flags] & avGlobal) !== 0;
		this.#place(q, w, withGrh, total);
		let flags = withGrh ? WcFlag.Grh : 0;
		let immData = 0;
		if (i32[w + Wqe$4.opcode] === Opcode.SendWithImm) {
			flags |= WcFlag.WithImm;
			immData = i32[w + Wqe$4.immData];
		}
		const wrId = receives.id(r);
		const length = 40 + total;
		const solicited = (i32[w + Wqe$4.flags] & SendFlag.Solicited) !== 0;
		i32[e + Cqe.slid] = i32[host.deviceWord(i32[q + Qp$8.device]) + Dev$2.lid] | i32[av + Av.sl] << 16;
		receives.consume(d, r);
		host.commit(cq, e, wrId, WcStatus.Success, WcOpcode.Recv, flags, length, immData, d, sender, solicited);
	}
	/** Copies GRH and payload to the receive's ranges. */
	#place(q, w, withGrh, total) {
		const { segment, u8 } = this.#host;
		const ranges = this.#ranges;
		const grh = this.#grh;
		if (withGrh) this.#writeGrh(q, w, grh, total);
		if (ranges.toCount === 1 && ranges.fromCount <= 1) {
			const to = ranges.to[0];
			if (withGrh) segment.copy(to, grh, 40);
			if (total > 0) segment.copy(to + 40, ranges.from[0], total);
			return;
		}
		if (!withGrh) u8.fill(0, grh, grh + 40);
		ranges.prepend(grh, 40);
		ranges.copyLists();
		ranges.dropFirst();
	}
	/** The global route header that the receiver sees before the payload; InfiniBand Architecture volume 1, 8.3. */
	#writeGrh(q, w, at, total) {
		const { i32, u8 } = this.#host;
		const av = w + Wqe$4.av;
		const trafficClass = i32[av + Av.trafficClass];
		const flowLabel = i32[av + Av.flowLabel];
		u8[at] = 96 | trafficClass >> 4;
		u8[at + 1] = (trafficClass & 15) << 4 | flowLabel >> 16;
		u8[at + 2] = flowLabel >> 8;
		u8[at + 3] = flowLabel;
		const length = 24 + (i32[w + Wqe$4.opcode] === Opcode.SendWithImm ? 4 : 0) + (total + 3 & -4);
		u8[at + 4] = length >> 8;
		u8[at + 5] = length;
		u8[at + 6] = 27;
		u8[at + 7] = i32[av + Av.hopLimit];
		const dev = this.#host.deviceWord(i32[q + Qp$8.device]);
		i32[(at + 8) / 4] = 33022;
		i32[(at + 12) / 4] = 0;
		writeBigEndian(u8, at + 16, i32[dev + Dev$2.guidHigh]);
		writeBigEndian(u8, at + 20, i32[dev + Dev$2.guidLow]);
		for (let i = 0; i < 4; i++) i32[(at + 24) / 4 + i] = i32[av + Av.gid + i];
	}
};
function writeBigEndian(u8, at, word) {
	u8[at] = word >>> 24;
	u8[at + 1] = word >>> 16;
	u8[at + 2] = word >>> 8;
	u8[at + 3] = word;
}
// src/devices/shm/failures.ts
/**
* How a request fails: what the requester and the responder each get to see of it.
*
* The thread that finds the failure holds the requester's send lock and must not take that of a second QP. So it changes
* states, makes the completion and the event, and flushes only a queue whose lock it holds; the rest is for `settle`.
*/
const { Qp: Qp$7 } = layout_exports;
var Failures = class {
	#host;
	/** References to QPs whose queues are to be flushed once no send lock is held. */
	#deferred = [];
	constructor(host) {
		this.#host = host;
	}
	/** The request at the front failed: it completes with the error, the rest is flushed. */
	fail(q, status) {
		const host = this.#host;
		const { i32 } = host;
		const device = i32[q + Qp$7.device];
		if (status === WcStatus.RetryExcErr) host.count(device, "retry_exceeded_err");
		else if (status === WcStatus.RnrRetryExcErr) host.count(device, "retry_rnr_exceeded_err");
		else if (status === WcStatus.RemAccessErr) host.count(device, "remote_access_errors");
		else if (status === WcStatus.RemInvReqErr) host.count(device, "remote_invalid_requests");
		else host.count(device, "local_errors");
		const rc = i32[q + Qp$7.type] === QpType.RC;
		host.breakQp(q, rc ? QpState.Err : QpState.Sqe);
		host.completeSend(q, status, 0);
		host.flushSends(q);
		if (rc) this.defer(q);
	}
	/** The responder `d` rejects a request: it goes to ERR with an asynchronous event. The receive lock is not held. */
	failResponder(d, event) {
		const host = this.#host;
		const { i32 } = host;
		if (i32[d + Qp$7.type] !== QpType.RC || !canRespond(host, d) || !host.breakQp(d, QpState.Err)) return;
		host.qpEvent(d, event);
		this.defer(d);
	}
	/** The receive CQ of `d` is full, so that its owner cannot learn of a message: a QP of any type ends with that. */
	overran(d) {
		const host = this.#host;
		if (!host.breakQp(d, QpState.Err)) return;
		host.qpEvent(d, EventType.QpFatal);
		this.defer(d);
	}
	/** The responder rejects what a request asks of its memory; the status that the requester sees. */
	refused(d, rc, status) {
		const host = this.#host;
		const device = host.i32[d + Qp$7.device];
		if (status === WcStatus.RemAccessErr) host.count(device, "resp_remote_access_errors");
		if (!rc) {
			host.count(device, "uc_drops_access");
			return WcStatus.Success;
		}
		this.failResponder(d, status === WcStatus.RemAccessErr ? EventType.QpAccessErr : EventType.QpReqErr);
		return status;
	}
	/** Leaves the queues of a QP that is in ERR now to be flushed by `settle`. */
	defer(q) {
		this.#deferred.push(this.#host.i32[q + Qp$7.ref]);
	}
	/** After a send lock was released: flushes what errors on the way left to be flushed. */
	settle() {
		while (this.#deferred.length > 0) {
			const ref = this.#deferred.pop();
			this.#host.segment.quiesce();
			this.#host.flushBroken(ref);
		}
	}
};
// src/devices/shm/waiting.ts
/**
* Requests that cannot be executed yet. They stay at the front of their send queue, which says why and until when;
* the segment's pending list has the QPs that somebody is to look at again when their time has come.
*
*     pendingOn.receive   the peer has no receive: until one is posted, or for its RNR timer, `rnrRetry` times
*     pendingOn.peer      the peer does not answer: for the ACK timeout, `retryCnt` times
*     pendingOn.grace     the window is closed, but threads that had looked before may still use it: for a grace period
*/
const { PendingList, Qp: Qp$6, Srq: Srq$1 } = layout_exports;
/** Why a request stands at the front of its queue. */
const pendingOn = {
	nothing: 0,
	receive: 1,
	peer: 2,
	grace: 3
};
/** RNR retry count that means for ever. */
const rnrRetryForever = 7;
/** How long a request whose timeout is 0 (for ever) waits before it looks for its peer again. */
const lookAgainNs = 1e6;
/** When another thread sees to a grace period, because the one that began it may have died. */
const graceIsLateNs = 1e8;
const nobody$2 = [];
var Waiting = class {
	#host;
	#i32;
	#f64;
	constructor(host) {
		this.#host = host;
		this.#i32 = host.i32;
		this.#f64 = host.f64;
	}
	/** The peer of an RC request does not answer: waits for the ACK timeout, and fails when the retries are used up. */
	unreachable(q) {
		const i32 = this.#i32;
		if (i32[q + Qp$6.type] !== QpType.RC) return WcStatus.Success;
		const timeout = i32[q + Qp$6.timeout];
		const now = nowNs();
		const wait = timeout === 0 ? lookAgainNs : 4096 * 2 ** timeout;
		if (i32[q + Qp$6.pending] !== pendingOn.peer) i32[q + Qp$6.retriesLeft] = i32[q + Qp$6.retryCnt];
		else if (now < this.#f64[q + Qp$6.deadline >> 1]) return -1;
		else if (timeout !== 0) {
			if (i32[q + Qp$6.retriesLeft] === 0) return WcStatus.RetryExcErr;
			i32[q + Qp$6.retriesLeft] = i32[q + Qp$6.retriesLeft] - 1;
		}
		this.#suspend(q, pendingOn.peer, now + wait);
		return -1;
	}
	/**
	* The peer `d` has no receive for the message of `q`: an RC request waits for the RNR timer, and fails when the retries
	* are used up; a UC message is dropped and counted. `receiveCame` if there is one by now. The receive lock of `d` is held.
	*/
	receiverNotReady(q, d) {
		const i32 = this.#i32;
		if (i32[q + Qp$6.type] !== QpType.RC) {
			this.#host.count(i32[d + Qp$6.device], "uc_drops_no_receive");
			return WcStatus.Success;
		}
		if (!this.#awaitReceive(q, d)) return -2;
		const now = nowNs();
		if (i32[q + Qp$6.pending] !== pendingOn.receive) i32[q + Qp$6.rnrLeft] = i32[q + Qp$6.rnrRetry];
		else if (now < this.#f64[q + Qp$6.deadline >> 1]) return -1;
		this.#host.count(i32[d + Qp$6.device], "send_rnr_err");
		this.#host.count(i32[q + Qp$6.device], "rcvd_rnr_err");
		if (i32[q + Qp$6.rnrRetry] !== rnrRetryForever) {
			if (i32[q + Qp$6.rnrLeft] === 0) return WcStatus.RnrRetryExcErr;
			i32[q + Qp$6.rnrLeft] = i32[q + Qp$6.rnrLeft] - 1;
		}
		this.#suspend(q, pendingOn.receive, now + rnrTimerNs[i32[d + Qp$6.minRnrTimer]]);
		return -1;
	}
	/**
	* Lets the thread that posts the next receive to `d`, or to its SRQ, know that `q` waits. False if one was posted since the
	* queue was found empty: its poster has perhaps not seen the mark. Both sides write first, pass a full barrier and look
	* then, so one of them sees the other.
	*/
	#awaitReceive(q, d) {
		const i32 = this.#i32;
		const slot = this.#host.qpSlot(q) + 1;
		const srqSlot = i32[d + Qp$6.srq];
		if (srqSlot < 0) {
			Atomics.store(i32, d + Qp$6.rqWaiting, slot);
			if (Atomics.load(i32, d + Qp$6.rqHead) === i32[d + Qp$6.rqTail]) return true;
			Atomics.compareExchange(i32, d + Qp$6.rqWaiting, slot, 0);
			return false;
		}
		const srq = this.#host.srqWord(srqSlot);
		const { segment } = this.#host;
		segment.lock(srq + Srq$1.lock);
		if (i32[q + Qp$6.waitingOn] === 0) {
			i32[q + Qp$6.waitingOn] = srqSlot + 1;
			i32[q + Qp$6.nextWaiting] = 0;
			let at = srq + Srq$1.waiting;
			while (i32[at] !== 0) at = this.#host.qpWord(i32[at] - 1) + Qp$6.nextWaiting;
			Atomics.store(i32, at, slot);
		}
		const none = Atomics.load(i32, srq + Srq$1.head) === i32[srq + Srq$1.tail];
		segment.unlock(srq + Srq$1.lock);
		if (!none) this.#host.stopWaiting(q);
		return none;
	}
	/**
	* The request at the front of `q` has closed a window: what resolved its key before may still be copying. True if this
	* thread is to wait for the grace period, and then to complete the request.
	*/
	awaitGrace(q) {
		const now = nowNs();
		if (this.inGrace(q) && now < this.#f64[q + Qp$6.deadline >> 1]) return false;
		this.#suspend(q, pendingOn.grace, now + graceIsLateNs);
		return true;
	}
	inGrace(q) {
		return this.#i32[q + Qp$6.pending] === pendingOn.grace;
	}
	#suspend(q, why, deadline) {
		const i32 = this.#i32;
		this.#f64[q + Qp$6.deadline >> 1] = deadline;
		if (i32[q + Qp$6.pending] !== pendingOn.nothing) {
			i32[q + Qp$6.pending] = why;
			return;
		}
		i32[q + Qp$6.pending] = why;
		const { segment, at, pendingCount } = this.#host;
		segment.lock(at.pending + PendingList.lock);
		const slot = this.#host.qpSlot(q);
		const count = i32[pendingCount];
		let listed = false;
		for (let i = 0; i < count; i++) if (i32[at.pending + PendingList.list + i] === slot) listed = true;
		if (!listed) {
			i32[at.pending + PendingList.list + count] = slot;
			Atomics.store(i32, pendingCount, count + 1);
		}
		segment.unlock(at.pending + PendingList.lock);
	}
	/** The request at the front of `q` waits no longer. Its place in the pending list is given back by `due`. */
	stopPending(q) {
		const i32 = this.#i32;
		if (i32[q + Qp$6.pending] !== pendingOn.nothing) i32[q + Qp$6.pending] = pendingOn.nothing;
	}
	#skipped = 0;
	/** Slots of the QPs of the segment whose time has come; none while another thread holds the list. */
	due() {
		const i32 = this.#i32;
		const { segment, at, pendingCount } = this.#host;
		if (Atomics.load(i32, at.pending + PendingList.lock) !== 0 && ++this.#skipped < 1e3) return nobody$2;
		this.#skipped = 0;
		const now = nowNs();
		const due = [];
		segment.lock(at.pending + PendingList.lock);
		for (let i = 0; i < i32[pendingCount];) {
			const slot = i32[at.pending + PendingList.list + i];
			const q = this.#host.qpWord(slot);
			if (i32[q + Qp$6.number] === 0 || i32[q + Qp$6.pending] === pendingOn.nothing) {
				const last = i32[pendingCount] - 1;
				i32[at.pending + PendingList.list + i] = i32[at.pending + PendingList.list + last];
				i32[pendingCount] = last;
				continue;
			}
			if (this.#f64[q + Qp$6.deadline >> 1] <= now) due.push(slot);
			i++;
		}
		segment.unlock(at.pending + PendingList.lock);
		return due;
	}
};
// src/devices/shm/messages.ts
/**
* Messages of a connected QP: SEND and WRITE, with and without immediate. There is no packet: the bytes go in one copy
* from the sender's memory to the receiver's, and where the message takes a receive, its completion is written at once.
*/
const { Qp: Qp$5, Wqe: Wqe$3 } = layout_exports;
/**
* Messages up to this many bytes are copied while the CQ is locked: an atomic operation between the first store of a
* short copy and the completion would wait until the line with the payload has arrived from the other core.
*/
const copyLockedBytes = 512;
var Messages = class {
	#host;
	#ranges;
	#receives;
	#waiting;
	#failures;
	constructor(host, ranges, receives, waiting, failures) {
		this.#host = host;
		this.#ranges = ranges;
		this.#receives = receives;
		this.#waiting = waiting;
		this.#failures = failures;
	}
	send(q, w) {
		const host = this.#host;
		const ranges = this.#ranges;
		const receives = this.#receives;
		const { i32, segment } = host;
		const total = ranges.gather(q, w, 0);
		if (total < 0) return WcStatus.LocProtErr;
		if (total > maxMessageBytes) return WcStatus.LocLenErr;
		const d = peerOf(host, q);
		if (d < 0) return this.#waiting.unreachable(q);
		const rc = i32[q + Qp$5.type] === QpType.RC;
		segment.lock(d + Qp$5.rqLock);
		if (!canRespond(host, d)) {
			segment.unlock(d + Qp$5.rqLock);
			return this.#waiting.unreachable(q);
		}
		const opcode = i32[w + Wqe$3.opcode];
		let flags = 0;
		let window = -1;
		if (opcode !== Opcode.Send) {
			if (opcode === Opcode.SendWithImm) flags = WcFlag.WithImm;
			else {
				window = invalidable(host, d, i32[w + Wqe$3.immData]);
				if (window < 0) {
					segment.unlock(d + Qp$5.rqLock);
					return this.#failures.refused(d, rc, WcStatus.RemAccessErr);
				}
				flags = WcFlag.WithInv;
			}
		}
		let r = receives.take(d, rc ? 0 : total);
		while (r === -1) {
			const status = this.#waiting.receiverNotReady(q, d);
			if (status !== -2) {
				segment.unlock(d + Qp$5.rqLock);
				return status;
			}
			r = receives.take(d, rc ? 0 : total);
		}
		if (r === -2) {
			segment.unlock(d + Qp$5.rqLock);
			host.count(i32[d + Qp$5.device], "uc_drops_length");
			return WcStatus.Success;
		}
		const placed = receives.scatter(d, r, total);
		if (placed !== WcStatus.Success) {
			receives.fail(d, r, placed, 0);
			segment.unlock(d + Qp$5.rqLock);
			if (!rc) return WcStatus.Success;
			return placed === WcStatus.LocLenErr ? WcStatus.RemInvReqErr : WcStatus.RemOpErr;
		}
		const cq = host.cqWord(i32[d + Qp$5.recvCq]);
		const wrId = receives.id(r);
		const solicited = (i32[w + Wqe$3.flags] & SendFlag.Solicited) !== 0;
		const immData = flags !== 0 ? i32[w + Wqe$3.immData] : 0;
		if (total > copyLockedBytes) ranges.copyLists();
		const e = host.reserve(cq);
		if (e < 0) return this.#noCompletion(d, rc);
		if (total <= copyLockedBytes) ranges.copyLists();
		if (window >= 0) unbindWindow(host, window);
		receives.consume(d, r);
		host.commit(cq, e, wrId, WcStatus.Success, WcOpcode.Recv, flags, total, immData, d, 0, solicited);
		segment.unlock(d + Qp$5.rqLock);
		return WcStatus.Success;
	}
	write(q, w) {
		const host = this.#host;
		const ranges = this.#ranges;
		const receives = this.#receives;
		const { i32, segment } = host;
		const total = ranges.gather(q, w, 0);
		if (total < 0) return WcStatus.LocProtErr;
		if (total > maxMessageBytes) return WcStatus.LocLenErr;
		const d = peerOf(host, q);
		if (d < 0) return this.#waiting.unreachable(q);
		const rc = i32[q + Qp$5.type] === QpType.RC;
		if ((i32[d + Qp$5.accessFlags] & Access.RemoteWrite) === 0) return this.#failures.refused(d, rc, WcStatus.RemInvReqErr);
		let to = 0;
		if (total > 0) {
			to = remoteRange(host, w, d, total, Access.RemoteWrite);
			if (to < 0) return this.#failures.refused(d, rc, WcStatus.RemAccessErr);
		}
		if (i32[w + Wqe$3.opcode] === Opcode.Write) {
			if (total > 0) ranges.copyTo(to);
			return WcStatus.Success;
		}
		segment.lock(d + Qp$5.rqLock);
		if (!canRespond(host, d)) {
			segment.unlock(d + Qp$5.rqLock);
			return this.#waiting.unreachable(q);
		}
		let r = receives.take(d, 0);
		while (r === -1) {
			const status = this.#waiting.receiverNotReady(q, d);
			if (status !== -2) {
				segment.unlock(d + Qp$5.rqLock);
				return status;
			}
			r = receives.take(d, 0);
		}
		const cq = host.cqWord(i32[d + Qp$5.recvCq]);
		if (total > copyLockedBytes) ranges.copyTo(to);
		const e = host.reserve(cq);
		if (e < 0) return this.#noCompletion(d, rc);
		if (total > 0 && total <= copyLockedBytes) ranges.copyTo(to);
		const wrId = receives.id(r);
		const solicited = (i32[w + Wqe$3.flags] & SendFlag.Solicited) !== 0;
		const immData = i32[w + Wqe$3.immData];
		const flags = WcFlag.WithImm;
		receives.consume(d, r);
		host.commit(cq, e, wrId, WcStatus.Success, WcOpcode.RecvRdmaWithImm, flags, total, immData, d, 0, solicited);
		segment.unlock(d + Qp$5.rqLock);
		return WcStatus.Success;
	}
	/** The CQ of the receiver `d` is full, so that it cannot learn of the message; its receive lock, held, is given back. */
	#noCompletion(d, rc) {
		this.#failures.overran(d);
		this.#host.segment.unlock(d + Qp$5.rqLock);
		return rc ? WcStatus.RemOpErr : WcStatus.Success;
	}
};
// src/devices/shm/one-sided.ts
/**
* Requests of RC that the responder's program does not notice: READ, the atomics, ATOMIC_WRITE and FLUSH. The requester's
* thread does them on the responder's memory itself, within the rights of the responder's QP and key.
*/
const { Key: Key$1, Qp: Qp$4, Wqe: Wqe$2 } = layout_exports;
var OneSided = class {
	#host;
	#ranges;
	#waiting;
	#failures;
	/** Bytes that a READ or atomic brought, for its completion. */
	byteLen = 0;
	constructor(host, ranges, waiting, failures) {
		this.#host = host;
		this.#ranges = ranges;
		this.#waiting = waiting;
		this.#failures = failures;
	}
	read(q, w) {
		const host = this.#host;
		const { i32 } = host;
		const total = this.#ranges.gather(q, w, Access.LocalWrite);
		if (total < 0) return WcStatus.LocProtErr;
		if (total > maxMessageBytes) return WcStatus.LocLenErr;
		if (i32[q + Qp$4.maxRdAtomic] === 0) return WcStatus.LocQpOpErr;
		const d = peerOf(host, q);
		if (d < 0) return this.#waiting.unreachable(q);
		if ((i32[d + Qp$4.accessFlags] & Access.RemoteRead) === 0 || i32[d + Qp$4.maxDestRdAtomic] === 0) return this.#failures.refused(d, true, WcStatus.RemInvReqErr);
		if (total > 0) {
			const at = remoteRange(host, w, d, total, Access.RemoteRead);
			if (at < 0) return this.#failures.refused(d, true, WcStatus.RemAccessErr);
			this.#ranges.copyBack(at, total);
		}
		this.byteLen = total;
		return WcStatus.Success;
	}
	/** ATOMIC_CMP_AND_SWP and ATOMIC_FETCH_AND_ADD. */
	atomic(q, w) {
		const host = this.#host;
		const { i32 } = host;
		const { b64 } = host.segment;
		const total = this.#ranges.gather(q, w, Access.LocalWrite);
		if (total < 0) return WcStatus.LocProtErr;
		if (total !== 8) return WcStatus.LocLenErr;
		if (i32[q + Qp$4.maxRdAtomic] === 0) return WcStatus.LocQpOpErr;
		const d = peerOf(host, q);
		if (d < 0) return this.#waiting.unreachable(q);
		if ((i32[d + Qp$4.accessFlags] & Access.RemoteAtomic) === 0 || i32[d + Qp$4.maxDestRdAtomic] === 0 || host.f64[w + Wqe$2.remoteAddr >> 1] % 8 !== 0) return this.#failures.refused(d, true, WcStatus.RemInvReqErr);
		const at = remoteRange(host, w, d, 8, Access.RemoteAtomic);
		if (at < 0) return this.#failures.refused(d, true, WcStatus.RemAccessErr);
		if (at % 8 !== 0) return this.#failures.refused(d, true, WcStatus.RemInvReqErr);
		const compareAdd = b64[w + Wqe$2.compareAdd >> 1];
		const old = i32[w + Wqe$2.opcode] === Opcode.AtomicCmpAndSwp ? Atomics.compareExchange(b64, at / 8, compareAdd, b64[w + Wqe$2.swap >> 1]) : Atomics.add(b64, at / 8, compareAdd);
		b64[w + Wqe$2.compareAdd >> 1] = old;
		this.#ranges.copyBack((w + Wqe$2.compareAdd) * 4, 8);
		this.byteLen = 8;
		return WcStatus.Success;
	}
	atomicWrite(q, w) {
		const host = this.#host;
		const { i32 } = host;
		const { b64 } = host.segment;
		const total = this.#ranges.gather(q, w, 0);
		if (total < 0) return WcStatus.LocProtErr;
		if (total !== 8) return WcStatus.LocLenErr;
		const d = peerOf(host, q);
		if (d < 0) return this.#waiting.unreachable(q);
		if ((i32[d + Qp$4.accessFlags] & Access.RemoteWrite) === 0 || host.f64[w + Wqe$2.remoteAddr >> 1] % 8 !== 0) return this.#failures.refused(d, true, WcStatus.RemInvReqErr);
		const at = remoteRange(host, w, d, 8, Access.RemoteWrite);
		if (at < 0) return this.#failures.refused(d, true, WcStatus.RemAccessErr);
		if (at % 8 !== 0) return this.#failures.refused(d, true, WcStatus.RemInvReqErr);
		const scratch = (w + Wqe$2.compareAdd) * 4;
		this.#ranges.copyTo(scratch);
		Atomics.store(b64, at / 8, b64[scratch / 8]);
		return WcStatus.Success;
	}
	flush(q, w) {
		const host = this.#host;
		const { i32, f64 } = host;
		const d = peerOf(host, q);
		if (d < 0) return this.#waiting.unreachable(q);
		const bits = i32[w + Wqe$2.access];
		const needs = ((bits & FlushPlacement.Global) !== 0 ? Access.FlushGlobal : 0) | ((bits & FlushPlacement.Persistent) !== 0 ? Access.FlushPersistent : 0);
		if ((i32[d + Qp$4.accessFlags] & needs) !== needs) return this.#failures.refused(d, true, WcStatus.RemInvReqErr);
		const wholeRegion = bits >> 4 === FlushSelectivity.Mr;
		const rkey = i32[w + Wqe$2.rkey];
		const entry = host.findKey(rkey);
		const addr = wholeRegion && entry >= 0 ? f64[entry + Key$1.iova >> 1] : f64[w + Wqe$2.remoteAddr >> 1];
		const length = wholeRegion ? 0 : f64[w + Wqe$2.length >> 1];
		if (host.resolve(rkey, i32[d + Qp$4.pd], addr, length, needs, host.qpSlot(d)) < 0) return this.#failures.refused(d, true, WcStatus.RemAccessErr);
		Atomics.add(i32, q + Qp$4.sqNext, 0);
		return WcStatus.Success;
	}
};
// src/devices/shm/ranges.ts
/**
* The bytes of a request as lists of ranges in the segment: a scatter/gather list goes in, every element is checked
* against its key, and what comes out is copied, list to range, range to list, or list to list.
*
* There is one object of these for all requests of a thread: a list holds until the next request resolves its own.
*/
const { Qp: Qp$3, Sg: Sg$1, Wqe: Wqe$1 } = layout_exports;
/** More than `maxSge` of the device, since a GRH may come in front. */
const maxRanges = 64;
var Ranges = class {
	#host;
	#copy;
	#copyOrdered;
	/** The requester's own ranges: the source, except for what a READ or atomic brings back. */
	from = new Float64Array(maxRanges);
	fromLength = new Float64Array(maxRanges);
	fromCount = 0;
	/** The ranges of the receive that a message fills. */
	to = new Float64Array(maxRanges);
	toLength = new Float64Array(maxRanges);
	toCount = 0;
	constructor(host) {
		this.#host = host;
		this.#copy = host.segment.copy;
		this.#copyOrdered = host.segment.copyOrdered;
	}
	/** Resolves the request's data to `from` (or, for what comes back, with LocalWrite); its length, or −1 for a protection error. */
	gather(q, w, access) {
		const host = this.#host;
		const { i32, f64 } = host;
		const { from, fromLength } = this;
		if ((i32[w + Wqe$1.flags] & SendFlag.Inline) !== 0) {
			const length = i32[w + Wqe$1.inlineLength];
			from[0] = (w + Wqe$1.data) * 4;
			fromLength[0] = length;
			this.fromCount = 1;
			return length;
		}
		const pd = i32[q + Qp$3.pd];
		const sges = i32[w + Wqe$1.sges];
		let total = 0;
		let count = 0;
		for (let i = 0, s = w + Wqe$1.data; i < sges; i++, s += Sg$1.words) {
			const length = i32[s + Sg$1.length];
			if (length === 0) continue;
			const at = host.resolve(i32[s + Sg$1.lkey], pd, f64[s >> 1], length, access, -1);
			if (at < 0) return -1;
			from[count] = at;
			fromLength[count] = length;
			count++;
			total += length;
		}
		this.fromCount = count;
		return total;
	}
	/** Copies `from` to one range; ordered, so that its last byte appears last. */
	copyTo(to) {
		const { from, fromLength } = this;
		const last = this.fromCount - 1;
		for (let i = 0; i < last; i++) {
			this.#copy(to, from[i], fromLength[i]);
			to += fromLength[i];
		}
		if (last >= 0) this.#copyOrdered(to, from[last], fromLength[last]);
	}
	/** Where the first `length` bytes of `from` are contiguous: in place, or copied to `scratch`. */
	peek(scratch, length) {
		const { from, fromLength } = this;
		if (this.fromCount === 1) return from[0];
		for (let i = 0, at = scratch, left = length; i < this.fromCount && left > 0; i++) {
			const piece = Math.min(left, fromLength[i]);
			this.#copy(at, from[i], piece);
			at += piece;
			left -= piece;
		}
		return scratch;
	}
	/** Copies one range into the request's own buffers, which `gather` has resolved to `from`. */
	copyBack(source, length) {
		const { from, fromLength, fromCount } = this;
		for (let i = 0; i < fromCount && length > 0; i++) {
			const piece = Math.min(length, fromLength[i]);
			this.#copy(from[i], source, piece);
			source += piece;
			length -= piece;
		}
	}
	/** Copies `from` to `to`, both lists. */
	copyLists() {
		const { from, fromLength, fromCount, to, toLength } = this;
		if (fromCount === 1 && this.toCount === 1) {
			this.#copy(to[0], from[0], fromLength[0]);
			return;
		}
		let t = 0;
		let into = 0;
		for (let f = 0; f < fromCount; f++) {
			let done = 0;
			const length = fromLength[f];
			while (done < length) {
				const room = toLength[t] - into;
				const piece = Math.min(length - done, room);
				this.#copy(to[t] + into, from[f] + done, piece);
				done += piece;
				into += piece;
				if (piece === room) {
					t++;
					into = 0;
				}
			}
		}
	}
	/** Puts a range in front of `from`. */
	prepend(at, length) {
		const { from, fromLength } = this;
		for (let i = this.fromCount; i > 0; i--) {
			from[i] = from[i - 1];
			fromLength[i] = fromLength[i - 1];
		}
		from[0] = at;
		fromLength[0] = length;
		this.fromCount++;
	}
	/** Takes away what `prepend` put there. */
	dropFirst() {
		const { from, fromLength } = this;
		this.fromCount--;
		for (let i = 0; i < this.fromCount; i++) {
			from[i] = from[i + 1];
			fromLength[i] = fromLength[i + 1];
		}
	}
};
// src/devices/shm/receives.ts
/**
* The receive that a message takes, from the peer's own receive queue or from its SRQ. Its place `r` is the word in the
* queue; a receive of an SRQ is copied out, and `fromSrq` stands for it.
*/
const { Qp: Qp$2, Rwqe, Sg, Srq } = layout_exports;
/** Stands for a receive that was copied out of an SRQ. */
const fromSrq = -3;
var Receives = class {
	#host;
	#i32;
	#f64;
	#ranges;
	#failures;
	#srqCopy = /* @__PURE__ */ new Int32Array(192);
	#srqCopyF64 = new Float64Array(this.#srqCopy.buffer);
	constructor(host, ranges, failures) {
		this.#host = host;
		this.#i32 = host.i32;
		this.#f64 = host.f64;
		this.#ranges = ranges;
		this.#failures = failures;
	}
	/**
	* The receive that a message of `bytes` to `d` takes, `noReceive`, or `receiveTooShort`, and then it stays for the next
	* message. With 0 bytes any receive will do. The receive lock of `d` is held; an SRQ's lock is taken here.
	*/
	take(d, bytes) {
		const i32 = this.#i32;
		const srqSlot = i32[d + Qp$2.srq];
		if (srqSlot < 0) {
			const tail = i32[d + Qp$2.rqTail];
			if (tail === i32[d + Qp$2.rqHead] && tail === Atomics.load(i32, d + Qp$2.rqHead)) return -1;
			const r = i32[d + Qp$2.rqRing] + (tail & i32[d + Qp$2.rqMask]) * i32[d + Qp$2.rqStride];
			return this.#host.receiveIsShort(r, bytes) ? -2 : r;
		}
		const taken = this.#host.takeFromSrq(srqSlot, this.#srqCopy, 0, bytes);
		return taken < 0 ? taken : fromSrq;
	}
	/** wr_id of a receive that `take` gave. */
	id(r) {
		return r === fromSrq ? this.#srqCopyF64[Rwqe.wrId >> 1] : this.#f64[r + Rwqe.wrId >> 1];
	}
	/** Marks a receive as used; that of an SRQ is already. */
	consume(d, r) {
		if (r === fromSrq) return;
		const i32 = this.#i32;
		this.#host.segment.publish(d + Qp$2.rqTail, i32[d + Qp$2.rqTail] + 1 | 0);
	}
	/** Resolves the receive's buffers for `length` bytes to the ranges `to`; a status. */
	scatter(d, r, length) {
		const srq = r === fromSrq;
		const i32 = srq ? this.#srqCopy : this.#i32;
		const f64 = srq ? this.#srqCopyF64 : this.#f64;
		const base = srq ? 0 : r;
		const sges = i32[base + Rwqe.sges];
		const srqSlot = this.#i32[d + Qp$2.srq];
		const pd = srq ? this.#i32[this.#host.srqWord(srqSlot) + Srq.pd] : this.#i32[d + Qp$2.pd];
		let room = 0;
		for (let i = 0, s = base + Rwqe.data; i < sges; i++, s += Sg.words) {
			const size = i32[s + Sg.length];
			if (size < 0) return WcStatus.LocProtErr;
			room += size;
		}
		if (room < length) return WcStatus.LocLenErr;
		const ranges = this.#ranges;
		let left = length;
		let count = 0;
		for (let s = base + Rwqe.data; left > 0; s += Sg.words) {
			const size = i32[s + Sg.length];
			if (size === 0) continue;
			const used = Math.min(size, left);
			const at = this.#host.resolve(i32[s + Sg.lkey], pd, f64[s >> 1], used, Access.LocalWrite, -1);
			if (at < 0) return WcStatus.LocProtErr;
			ranges.to[count] = at;
			ranges.toLength[count] = used;
			count++;
			left -= used;
		}
		ranges.toCount = count;
		return WcStatus.Success;
	}
	/** Completes a receive of `d` with an error that its owner made, which ends the QP. The receive lock is held. */
	fail(d, r, status, srcQp) {
		const host = this.#host;
		const i32 = this.#i32;
		this.consume(d, r);
		host.breakQp(d, QpState.Err);
		host.complete(host.cqWord(i32[d + Qp$2.recvCq]), this.id(r), status, WcOpcode.Recv, 0, 0, 0, d, srcQp, false);
		host.flushReceives(d);
		this.#failures.defer(d);
	}
};
// src/devices/shm/executor.ts
/**
* The work of an adapter in shared memory: the thread that has a request at the front of a send queue executes it, as
* requester and as responder at once. There is no packet; a SEND is one copy from the sender's memory to the receiver's.
* Every check of a real adapter is made, and a failed one ends as it would there: with completions, QP states and
* asynchronous events on both sides.
*
*     RC error in a request   requester completes with an error, both QPs go to ERR where the responder rejected it
*     UC, UD                  the requester sees only local errors (and goes to SQE); what cannot be delivered is counted
*
* Here is the send queue. What a request does is in messages.ts (SEND, WRITE), one-sided.ts (READ, atomics, FLUSH),
* datagrams.ts, and memory windows are of verbs; they share the lists of ranges (ranges.ts), the peer (peer.ts) and its receives
* (receives.ts), what must wait (waiting.ts) and what becomes of an error (failures.ts).
*
* In all of them `q` is the first word of the requester's QP, `d` that of the responder's, `w` that of the request in its
* queue, and `r` that of a receive. What executes a request returns a `WcStatus`, or `waits` if it must be tried again.
*/
const { Key, Qp: Qp$1, Wqe } = layout_exports;
var Executor = class {
	#host;
	#i32;
	#failures;
	#waiting;
	#messages;
	#oneSided;
	#datagrams;
	#graces = [];
	#adapters;
	#progressing = false;
	/** `adapters`: how many devices of the segment, from the first on, are of this kind. */
	constructor(host, mtu, adapters) {
		this.#host = host;
		this.#adapters = adapters;
		this.#i32 = host.i32;
		const ranges = new Ranges(host);
		this.#failures = new Failures(host);
		this.#waiting = new Waiting(host);
		const receives = new Receives(host, ranges, this.#failures);
		this.#messages = new Messages(host, ranges, receives, this.#waiting, this.#failures);
		this.#oneSided = new OneSided(host, ranges, this.#waiting, this.#failures);
		this.#datagrams = new Datagrams(host, mtu, adapters, ranges, receives, this.#failures);
	}
	/**
	* Executes what is in a send queue, in order, until it is empty or must wait. Its send lock is held; after it is released, and the
	* operation left, comes `settle`.
	*/
	run(q) {
		const i32 = this.#i32;
		const host = this.#host;
		host.segment.parking.deferWakes();
		for (;;) {
			const next = i32[q + Qp$1.sqNext];
			const state = i32[q + Qp$1.state];
			if (state === QpState.Sqd) host.drained(q);
			if (next === i32[q + Qp$1.sqHead]) return;
			if (state !== QpState.Rts) {
				if (state === QpState.Err || state === QpState.Sqe) host.flushSends(q);
				else if (state === QpState.Sqd && i32[q + Qp$1.sqDraining] === 1) {
					if (!this.#step(q, next)) return;
					continue;
				}
				return;
			}
			if (!this.#step(q, next)) return;
		}
	}
	/** Executes the request at `next`; false if it has to wait. */
	#step(q, next) {
		const i32 = this.#i32;
		const w = i32[q + Qp$1.sqRing] + (next & i32[q + Qp$1.sqMask]) * i32[q + Qp$1.sqStride];
		this.#oneSided.byteLen = 0;
		const status = this.#execute(q, w);
		if (status === -1) return false;
		this.#waiting.stopPending(q);
		if (status !== WcStatus.Success) this.#failures.fail(q, status);
		else if (!this.#host.completeSend(q, WcStatus.Success, this.#oneSided.byteLen)) this.#failures.defer(q);
		return true;
	}
	#execute(q, w) {
		const i32 = this.#i32;
		const type = i32[q + Qp$1.type];
		if (type === QpType.UD || type === QpType.GSI) return this.#datagrams.send(q, w);
		switch (i32[w + Wqe.opcode]) {
			case Opcode.Send:
			case Opcode.SendWithImm:
			case Opcode.SendWithInv: return this.#messages.send(q, w);
			case Opcode.Write:
			case Opcode.WriteWithImm: return this.#messages.write(q, w);
			case Opcode.Read: return this.#oneSided.read(q, w);
			case Opcode.AtomicCmpAndSwp:
			case Opcode.AtomicFetchAndAdd: return this.#oneSided.atomic(q, w);
			case Opcode.AtomicWrite: return this.#oneSided.atomicWrite(q, w);
			case Opcode.Flush: return this.#oneSided.flush(q, w);
			case Opcode.LocalInv:
			case Opcode.BindMw: return this.#window(q, w);
			default: return WcStatus.LocQpOpErr;
		}
	}
	/**
	* BIND_MW or LOCAL_INV. When one that closes a window completes, nobody writes there any more: another thread may have
	* resolved the key before and be copying, so the completion waits for a grace period. That is for `settle`, since this
	* thread is in an operation itself.
	*/
	#window(q, w) {
		const host = this.#host;
		const { i32 } = host;
		if (!this.#waiting.inGrace(q)) {
			const invalidates = i32[w + Wqe.opcode] === Opcode.LocalInv;
			const window = host.findKey(i32[w + (invalidates ? Wqe.immData : Wqe.rkey)]);
			const wasOpen = window >= 0 && i32[window + Key.valid] === 1;
			const status = invalidates ? localInvalidate(host, q, w) : bind(host, q, w);
			if (status !== WcStatus.Success || !wasOpen) return status;
		}
		if (this.#waiting.awaitGrace(q)) this.#graces.push({
			q,
			ref: i32[q + Qp$1.ref],
			index: i32[q + Qp$1.sqNext]
		});
		return -1;
	}
	/** A CQ of `q` is full: ends and flushes the QP. No lock is held, and this thread is in no operation. */
	overran(q) {
		this.#failures.overran(q);
		this.settle();
	}
	/** After a send lock was released: wakes the threads that wait for what was done, and does what had to wait for a grace period. */
	settle() {
		const { parking } = this.#host.segment;
		parking.wakeDeferred();
		this.#failures.settle();
		while (this.#graces.length > 0) {
			const grace = this.#graces.pop();
			this.#host.segment.quiesce();
			this.#endGrace(grace);
			parking.wakeDeferred();
			this.#failures.settle();
		}
	}
	#endGrace({ q, ref, index }) {
		const host = this.#host;
		const { i32, segment } = host;
		host.lockSends(q);
		segment.enterNow();
		try {
			if (i32[q + Qp$1.ref] === ref) {
				const state = i32[q + Qp$1.state];
				if (this.#waiting.inGrace(q) && i32[q + Qp$1.sqNext] === index && (state === QpState.Rts || state === QpState.Sqd)) {
					this.#waiting.stopPending(q);
					if (!host.completeSend(q, WcStatus.Success, 0)) this.#failures.defer(q);
				}
				this.run(q);
			}
		} finally {
			segment.unlock(q + Qp$1.sqLock);
			segment.leave();
		}
	}
	/** Executes the requests whose time has come, of any QP of the segment. */
	progress() {
		if (this.#progressing) return;
		this.#progressing = true;
		try {
			for (const slot of this.#waiting.due()) this.resume(slot);
		} finally {
			this.#progressing = false;
		}
	}
	/** Continues the send queue of a QP, from any thread. */
	resume(slot) {
		const i32 = this.#i32;
		const { segment } = this.#host;
		const q = this.#host.qpWord(slot);
		this.#host.lockSends(q);
		segment.enterNow();
		try {
			if (i32[q + Qp$1.number] !== 0 && i32[q + Qp$1.device] < this.#adapters) this.run(q);
		} finally {
			segment.unlock(q + Qp$1.sqLock);
			segment.leave();
		}
		this.settle();
	}
	/** The connected peer if it can take requests, or −1. */
	peer(q) {
		return peerOf(this.#host, q);
	}
};
// src/devices/shm/segments.ts
/** The segments that this thread is attached to, with their tables made ready for two adapters each. */
const { Dev: Dev$1, Meta, Tables } = layout_exports;
const activeMtu = 4096;
const attached = /* @__PURE__ */ new Map();
/** Attaches this thread to a segment, of this process if `name` is null, and makes the tables ready; once. `mode` as `Segment.named` has it. */
function attachSegment(name, mode) {
	const known = attached.get(name ?? "");
	if (known) return known;
	if (name !== null) removeStaleSegments();
	const host = name === null ? processHost() : hostOf(Segment.named(name, segmentOptions(), mode));
	host.control(() => initialise(host));
	reapDead(host);
	const made = {
		host,
		executor: new Executor(host, activeMtu, 2)
	};
	attached.set(name ?? "", made);
	return made;
}
process.on("exit", () => {
	for (const [name, { host }] of attached) if (name !== "") reapOwn(host);
});
function initialise(host) {
	const { i32, at } = host;
	if (i32[at.meta + Meta.initialised] === 1) return;
	const guid = randomBytes(4).readInt32BE();
	for (let index = 0; index < 2; index++) {
		const dev = host.deviceWord(index);
		i32[dev + Dev$1.guidHigh] = guidHigh;
		i32[dev + Dev$1.guidLow] = guid & -2 | index;
		i32[dev + Dev$1.lid] = index + 1;
		i32[dev + Dev$1.state] = 1;
	}
	i32[at.meta + Meta.initialised] = 1;
}
/** Locally administered, so that it is nobody's; "VBN". */
const guidHigh = 39207502;
function deviceGuid(host, index) {
	return guidIn(host.i32, host.at.meta, index);
}
/** The GUID of an adapter, from the words of a segment whose tables begin at `tables`. */
function guidIn(i32, tables, index) {
	const dev = tables + Tables.devices + index * Dev$1.words;
	return BigInt(i32[dev + Dev$1.guidHigh] >>> 0) << 32n | BigInt(i32[dev + Dev$1.guidLow] >>> 0);
}
/** So many bytes at the beginning of the tables hold the GUIDs of all adapters. */
const guidsEndBytes = (Tables.devices + 2 * Dev$1.words) * 4;
/** Takes away what processes that were killed left of named segments. */
function removeStaleSegments() {
	for (const name of namedSegments()) try {
		Segment.removeStale(name);
	} catch {}
}
function namedSegments() {
	const directory = "/dev/shm";
	if (!existsSync(directory)) return [];
	return readdirSync(directory).filter((file) => file.startsWith(segmentFilePrefix)).map((file) => file.slice(8));
}
// src/devices/shm/device.ts
/** An adapter in shared memory. */
const { Ctx, Dev, Qp } = layout_exports;
var ShmDevice = class {
	name;
	host;
	index;
	attr;
	port;
	gids;
	pkeys = [defaultPkey];
	qpWords = 0;
	driven = false;
	#executor;
	#i32;
	constructor(name, { host, executor }, index) {
		this.name = name;
		this.host = host;
		this.index = index;
		this.#executor = executor;
		this.#i32 = host.i32;
		const dev = host.deviceWord(index);
		const guid = deviceGuid(host, index);
		this.attr = deviceAttr(host, guid, {
			vendorPartId: 1,
			localCaAckDelay: 0,
			maxRdAtomic: 128
		});
		const lid = host.i32[dev + Dev.lid];
		this.port = portAttr({
			activeMtu,
			gidTblLen: 1,
			lid,
			smLid: 1,
			linkLayer: LinkLayer.InfiniBand
		});
		this.gids = [{
			gid: linkLocalGid(guid),
			gidIndex: 0,
			portNum: 1,
			gidType: GidType.Ib,
			ndevIfindex: 0
		}];
	}
	route(attr) {
		const { grh } = attr;
		if (grh && grh.dgid[0] !== 255) {
			for (let index = 0; index < 2; index++) if (linkLocalGid(deviceGuid(this.host, index)).every((byte, i) => byte === grh.dgid[i])) return index;
			return -1;
		}
		const lid = attr.dlid ?? 0;
		return lid >= 1 && lid <= 2 ? lid - 1 : -1;
	}
	fastPath(q) {
		return this.#i32[q + Qp.engine] === 0 ? new ShmFastPath(this.host, this.#executor, q) : null;
	}
	doorbell(q) {
		if (this.#i32[q + Qp.engine] === 0) this.#executor.run(q);
		else this.#ring(q);
	}
	/** Tells the engine thread of the QP's context; the ring holds each QP once. */
	#ring(q) {
		const i32 = this.#i32;
		const { segment } = this.host;
		if (Atomics.exchange(i32, q + Qp.rung, 1) === 1) return;
		const c = this.host.ctxWord(i32[q + Qp.context]);
		segment.lock(c + Ctx.doorbellLock);
		const tail = i32[c + Ctx.doorbellTail];
		if ((tail - Atomics.load(i32, c + Ctx.doorbellHead) | 0) < Ctx.doorbellSlots) {
			i32[c + Ctx.doorbells + (tail & Ctx.doorbellSlots - 1)] = this.host.qpSlot(q);
			Atomics.store(i32, c + Ctx.doorbellTail, tail + 1 | 0);
		} else Atomics.store(i32, c + Ctx.doorbellMissed, 1);
		segment.unlock(c + Ctx.doorbellLock);
		if (Atomics.load(i32, c + Ctx.doorbellSleeping) === 1) {
			Atomics.add(i32, c + Ctx.doorbellWake, 1);
			segment.notify(c + Ctx.doorbellWake);
		}
	}
	settle() {
		this.#executor.settle();
	}
	resume(qpSlot) {
		this.#executor.resume(qpSlot);
	}
	progress() {
		this.#executor.progress();
	}
	joinGroup() {}
	leaveGroup() {}
	rest() {}
	sleep() {
		return false;
	}
	open(context, options) {
		if (options.wrap !== void 0 && options.wrap.length > 0) throw new VerbsError("EOPNOTSUPP", "openDevice", `${this.name} has no link that could be wrapped: a device on a network has, for example roce:127.0.0.1`);
		warnOfWraps(this.name);
		if (options.engine !== "thread") return;
		serveContext(this.host, context, options.engineCores ?? []);
	}
	close(context) {
		releaseContext(this.host, context);
	}
};
function linkLocalGid(guid) {
	const gid = /* @__PURE__ */ new Uint8Array(16);
	const view = new DataView(gid.buffer);
	view.setUint32(0, 4269801472);
	view.setBigUint64(8, guid);
	return gid;
}
// src/devices/shm/driver.ts
/**
* Adapters in shared memory, by name. Each segment has two, so that a program finds a pair to talk between: `shm0` and `shm1`
* in the segment of this process, `shm:NAME` and `shm:NAME/1` in a named segment between processes.
*/
const janitors = /* @__PURE__ */ new Map();
/** Between processes a thread has to notice that one died, even while all others compute. */
function startJanitor(name) {
	const worker = startDeviceThread("janitor", { name });
	worker.on("error", (error) => {
		janitors.delete(name);
		const { message } = error;
		process.emitWarning(`this process no longer notices when others of shm:${name} die: ${message}`, "VerbenaWarning");
	});
	janitors.set(name, worker);
}
/** Named segments of this thread whose deaths a janitor, here or in another thread of the process, notices. */
const watched = /* @__PURE__ */ new Set();
function attach(name, existing = false) {
	let attached;
	try {
		attached = attachSegment(name, existing ? "open" : void 0);
	} catch (error) {
		if (!existing || !(error instanceof NativeError) || error.code !== "ENOENT") throw error;
		throw new VerbsError("ENODEV", "openDevice", `no process uses a segment of the name '${name}'`);
	}
	if (name !== null && !watched.has(name)) {
		watched.add(name);
		if (isMainThread || !attached.host.segment.hasJanitor()) startJanitor(name);
	}
	return attached;
}
const devices = /* @__PURE__ */ new Map();
const isSegmentName = (name) => /^[A-Za-z0-9._-]{1,64}$/.test(name);
/** Segment and adapter that a name means; null if it is not a name of this driver. */
function parse(name) {
	const own = /^shm([01])$/.exec(name);
	if (own) return {
		segment: null,
		index: Number(own[1])
	};
	if (!name.startsWith("shm:")) return null;
	const named = /^shm:([^/]*)(?:\/([01]))?$/.exec(name);
	if (!named || !isSegmentName(named[1])) throw new VerbsError("ENODEV", "openDevice", `'${name}' is not a segment's name: shm:NAME or shm:NAME/1, with up to 64 letters, digits, dots, dashes or underscores`);
	return {
		segment: named[1],
		index: Number(named[2] ?? 0)
	};
}
function open(name, { existing }) {
	const parsed = parse(name);
	if (!parsed) return null;
	const canonical = parsed.segment === null ? name : `shm:${parsed.segment}/${parsed.index}`;
	let device = devices.get(canonical);
	if (!device) {
		device = new ShmDevice(name, attach(parsed.segment, existing), parsed.index);
		devices.set(canonical, device);
	}
	return device;
}
function list() {
	const info = (name, host, index) => ({
		name,
		guid: deviceGuid(host, index),
		kind: "shm"
	});
	const own = attach(null).host;
	const found = [info("shm0", own, 0), info("shm1", own, 1)];
	removeStaleSegments();
	for (const name of namedSegments()) {
		if (!isSegmentName(name)) continue;
		try {
			const guids = Segment.peek(name, segmentOptions().staticBytes, guidsEndBytes, (i32, tables) => [guidIn(i32, tables, 0), guidIn(i32, tables, 1)]);
			if (!guids) continue;
			found.push({
				name: `shm:${name}`,
				guid: guids[0],
				kind: "shm"
			}, {
				name: `shm:${name}/1`,
				guid: guids[1],
				kind: "shm"
			});
		} catch (error) {
			if (!(error instanceof SegmentError) && !(error instanceof Error && "errno" in error)) throw error;
		}
	}
	return found;
}
const shmDriver = {
	kind: "shm",
	list,
	open
};
// src/cm/ib/states.ts
const asking = ["REQ_SENT", "MRA_REQ_RCVD"];
const asked = ["REQ_RCVD", "MRA_REQ_SENT"];
const replying = ["REP_SENT", "MRA_REP_RCVD"];
const replied = ["REP_RCVD", "MRA_REP_SENT"];
const loading = ["LAP_SENT", "MRA_LAP_RCVD"];
const toLoad = ["LAP_RCVD", "MRA_LAP_SENT"];
const connected = [
	"ESTABLISHED",
	...loading,
	...toLoad
];
/** The table in parts, each of which is one figure. */
const cmFigures = {
	listening: [{
		from: ["IDLE"],
		on: "listen",
		to: "LISTEN"
	}, {
		from: ["LISTEN"],
		on: "close",
		to: "IDLE"
	}],
	active: [
		{
			from: ["IDLE"],
			on: "sendReq",
			to: "REQ_SENT",
			send: "REQ",
			timer: "response"
		},
		{
			from: asking,
			on: "timeout",
			send: "REQ again",
			timer: "next"
		},
		{
			from: asking,
			on: "expired",
			to: "IDLE",
			send: "REJ (timeout)",
			event: "reqError"
		},
		{
			from: ["REQ_SENT"],
			on: "MRA(REQ)",
			to: "MRA_REQ_RCVD",
			timer: "mra",
			event: "mraReceived"
		},
		{
			from: ["MRA_REQ_RCVD"],
			on: "MRA(REQ)",
			timer: "mra",
			duplicate: true
		},
		{
			from: asking,
			on: "REP",
			to: "REP_RCVD",
			timer: "stop",
			event: "repReceived"
		},
		{
			from: [
				...asking,
				...replied,
				...connected
			],
			on: "REJ",
			when: "notYet"
		},
		{
			from: asking,
			on: "REJ",
			when: "stale",
			to: "TIMEWAIT",
			timer: "timewait",
			event: "rejReceived"
		},
		{
			from: asking,
			on: "REJ",
			to: "IDLE",
			event: "rejReceived"
		},
		{
			from: asking,
			on: "close",
			to: "IDLE",
			send: "REJ (timeout)"
		},
		{
			from: ["REP_RCVD"],
			on: "sendMra",
			to: "MRA_REP_SENT",
			send: "MRA"
		},
		{
			from: ["REP_RCVD"],
			on: "prepareMra",
			to: "MRA_REP_SENT"
		},
		{
			from: ["REP_RCVD"],
			on: "REP",
			duplicate: true
		},
		{
			from: ["MRA_REP_SENT"],
			on: "REP",
			send: "MRA again",
			duplicate: true
		},
		{
			from: replied,
			on: "sendRtu",
			to: "ESTABLISHED",
			send: "RTU"
		},
		{
			from: replied,
			on: "sendRej",
			to: "ANSWERED",
			send: "REJ",
			timer: "answer"
		},
		{
			from: replied,
			on: "close",
			to: "ANSWERED",
			send: "REJ (consumer)",
			timer: "answer"
		},
		{
			from: replied,
			on: "REJ",
			to: "TIMEWAIT",
			timer: "timewait",
			event: "rejReceived"
		},
		{
			from: connected,
			on: "REP",
			send: "RTU again",
			duplicate: true
		},
		{
			from: ["ANSWERED"],
			on: "REP",
			send: "REJ again",
			duplicate: true
		}
	],
	bothActive: [{
		from: asking,
		on: "REQ",
		when: "greater",
		send: "REQ again"
	}, {
		from: asking,
		on: "REQ",
		when: "smaller",
		to: "REQ_RCVD",
		timer: "stop",
		event: "reqReceived"
	}],
	passive: [
		{
			from: ["LISTEN"],
			on: "REQ",
			to: "REQ_RCVD",
			timer: "program",
			event: "reqReceived"
		},
		{
			from: ["REQ_RCVD"],
			on: "REQ",
			duplicate: true
		},
		{
			from: ["MRA_REQ_SENT"],
			on: "REQ",
			send: "MRA again",
			duplicate: true
		},
		{
			from: ["REQ_RCVD"],
			on: "sendMra",
			to: "MRA_REQ_SENT",
			send: "MRA"
		},
		{
			from: ["REQ_RCVD"],
			on: "prepareMra",
			to: "MRA_REQ_SENT"
		},
		{
			from: asked,
			on: "sendRep",
			to: "REP_SENT",
			send: "REP",
			timer: "response"
		},
		{
			from: asked,
			on: "sendRej",
			to: "ANSWERED",
			send: "REJ",
			timer: "answer"
		},
		{
			from: asked,
			on: "close",
			to: "ANSWERED",
			send: "REJ (consumer)",
			timer: "answer"
		},
		{
			from: asked,
			on: "REJ",
			to: "TIMEWAIT",
			timer: "timewait",
			event: "rejReceived"
		},
		{
			from: asked,
			on: "expired",
			to: "IDLE",
			send: "REJ (timeout)",
			event: "reqDropped"
		},
		{
			from: asked,
			on: "evicted",
			to: "IDLE",
			event: "reqDropped"
		},
		{
			from: asked,
			on: "stale",
			to: "TIMEWAIT",
			timer: "timewait",
			event: "staleConnection"
		},
		{
			from: ["ANSWERED"],
			on: "REQ",
			send: "REJ again",
			duplicate: true
		},
		{
			from: replying,
			on: "REQ",
			send: "REP again",
			duplicate: true
		},
		{
			from: replying,
			on: "timeout",
			send: "REP again",
			timer: "next"
		},
		{
			from: replying,
			on: "expired",
			to: "TIMEWAIT",
			send: "REJ (timeout)",
			timer: "timewait",
			event: "repError"
		},
		{
			from: replying,
			on: "evicted",
			to: "TIMEWAIT",
			send: "REJ (no resources)",
			timer: "timewait",
			event: "reqDropped"
		},
		{
			from: ["REP_SENT"],
			on: "MRA(REP)",
			to: "MRA_REP_RCVD",
			timer: "mra",
			event: "mraReceived"
		},
		{
			from: ["MRA_REP_RCVD"],
			on: "MRA(REP)",
			timer: "mra",
			duplicate: true
		},
		{
			from: replying,
			on: "RTU",
			to: "ESTABLISHED",
			timer: "stop",
			event: "rtuReceived"
		},
		{
			from: replying,
			on: "established",
			to: "ESTABLISHED",
			timer: "stop",
			event: "userEstablished"
		},
		{
			from: replying,
			on: "REJ",
			to: "TIMEWAIT",
			timer: "timewait",
			event: "rejReceived"
		},
		{
			from: replying,
			on: "sendRej",
			to: "TIMEWAIT",
			send: "REJ",
			timer: "timewait"
		},
		{
			from: replying,
			on: "close",
			to: "TIMEWAIT",
			send: "REJ (consumer)",
			timer: "timewait"
		},
		{
			from: replying,
			on: "DREQ",
			to: "DREQ_RCVD",
			timer: "stop",
			event: "dreqReceived"
		},
		{
			from: [...replying, ...replied],
			on: "stale",
			to: "TIMEWAIT",
			timer: "timewait",
			event: "staleConnection"
		},
		{
			from: connected,
			on: "REQ",
			duplicate: true
		},
		{
			from: connected,
			on: "RTU",
			duplicate: true
		}
	],
	release: [
		{
			from: connected,
			on: "sendDreq",
			to: "DREQ_SENT",
			send: "DREQ",
			timer: "response"
		},
		{
			from: connected,
			on: "close",
			to: "DREQ_SENT",
			send: "own DREQ",
			timer: "response"
		},
		{
			from: connected,
			on: "stale",
			to: "DREQ_SENT",
			send: "own DREQ",
			timer: "response",
			event: "staleConnection"
		},
		{
			from: connected,
			on: "DREQ",
			to: "DREQ_RCVD",
			timer: "stop",
			event: "dreqReceived"
		},
		{
			from: connected,
			on: "REJ",
			to: "TIMEWAIT",
			timer: "timewait",
			event: "rejReceived"
		},
		{
			from: ["DREQ_SENT"],
			on: "timeout",
			send: "DREQ again",
			timer: "next"
		},
		{
			from: ["DREQ_SENT"],
			on: "expired",
			to: "TIMEWAIT",
			timer: "timewait",
			event: "dreqError"
		},
		{
			from: ["DREQ_SENT"],
			on: "DREP",
			to: "TIMEWAIT",
			timer: "timewait",
			event: "drepReceived"
		},
		{
			from: ["DREQ_SENT"],
			on: "DREQ",
			to: "DREQ_RCVD",
			timer: "stop",
			event: "dreqReceived"
		},
		{
			from: ["DREQ_SENT"],
			on: "REJ",
			to: "TIMEWAIT",
			timer: "timewait",
			event: "rejReceived"
		},
		{
			from: ["DREQ_SENT"],
			on: "close"
		},
		{
			from: ["DREQ_RCVD"],
			on: "sendDrep",
			to: "TIMEWAIT",
			send: "DREP",
			timer: "timewait"
		},
		{
			from: ["DREQ_RCVD"],
			on: "close",
			to: "TIMEWAIT",
			send: "own DREP",
			timer: "timewait"
		},
		{
			from: ["DREQ_RCVD"],
			on: "DREQ",
			duplicate: true
		},
		{
			from: ["TIMEWAIT"],
			on: "DREQ",
			send: "own DREP",
			duplicate: true
		},
		{
			from: ["TIMEWAIT"],
			on: "REQ",
			send: "REJ (stale connection)",
			duplicate: true
		},
		{
			from: ["TIMEWAIT"],
			on: "REP",
			send: "REJ (stale connection)",
			duplicate: true
		},
		{
			from: ["TIMEWAIT"],
			on: "DREP",
			duplicate: true
		},
		{
			from: ["TIMEWAIT"],
			on: "close"
		},
		{
			from: ["TIMEWAIT"],
			on: "expired",
			to: "IDLE",
			event: "timewaitExit"
		},
		{
			from: ["ANSWERED"],
			on: "DREQ",
			send: "own DREP",
			duplicate: true
		},
		{
			from: ["ANSWERED"],
			on: "close"
		},
		{
			from: ["ANSWERED"],
			on: "expired",
			to: "IDLE"
		}
	],
	alternatePath: [
		{
			from: ["ESTABLISHED"],
			on: "sendLap",
			to: "LAP_SENT",
			send: "LAP",
			timer: "response"
		},
		{
			from: loading,
			on: "timeout",
			send: "LAP again",
			timer: "next"
		},
		{
			from: loading,
			on: "expired",
			to: "ESTABLISHED",
			timer: "stop",
			event: "lapError"
		},
		{
			from: loading,
			on: "APR",
			to: "ESTABLISHED",
			timer: "stop",
			event: "aprReceived"
		},
		{
			from: ["LAP_SENT"],
			on: "MRA(LAP)",
			to: "MRA_LAP_RCVD",
			timer: "mra",
			event: "mraReceived"
		},
		{
			from: ["MRA_LAP_RCVD"],
			on: "MRA(LAP)",
			timer: "mra",
			duplicate: true
		},
		{
			from: loading,
			on: "LAP",
			when: "crossed",
			to: "LAP_RCVD",
			timer: "stop",
			event: "lapReceived"
		},
		{
			from: ["ESTABLISHED"],
			on: "LAP",
			when: "repeated",
			send: "APR again",
			duplicate: true
		},
		{
			from: ["ESTABLISHED"],
			on: "LAP",
			to: "LAP_RCVD",
			event: "lapReceived"
		},
		{
			from: ["LAP_RCVD"],
			on: "LAP",
			duplicate: true
		},
		{
			from: ["MRA_LAP_SENT"],
			on: "LAP",
			send: "MRA again",
			duplicate: true
		},
		{
			from: ["LAP_RCVD"],
			on: "sendMra",
			to: "MRA_LAP_SENT",
			send: "MRA"
		},
		{
			from: ["LAP_RCVD"],
			on: "prepareMra",
			to: "MRA_LAP_SENT"
		},
		{
			from: toLoad,
			on: "sendApr",
			to: "ESTABLISHED",
			send: "APR"
		}
	],
	sidr: [
		{
			from: ["IDLE"],
			on: "sendSidrReq",
			to: "SIDR_REQ_SENT",
			send: "SIDR_REQ",
			timer: "response"
		},
		{
			from: ["SIDR_REQ_SENT"],
			on: "timeout",
			send: "SIDR_REQ again",
			timer: "next"
		},
		{
			from: ["SIDR_REQ_SENT"],
			on: "expired",
			to: "IDLE",
			event: "sidrReqError"
		},
		{
			from: ["SIDR_REQ_SENT"],
			on: "SIDR_REP",
			to: "IDLE",
			event: "sidrRepReceived"
		},
		{
			from: ["SIDR_REQ_SENT"],
			on: "close",
			to: "IDLE"
		},
		{
			from: ["LISTEN"],
			on: "SIDR_REQ",
			to: "SIDR_REQ_RCVD",
			timer: "program",
			event: "sidrReqReceived"
		},
		{
			from: ["SIDR_REQ_RCVD"],
			on: "expired",
			to: "IDLE",
			event: "reqDropped"
		},
		{
			from: ["SIDR_REQ_RCVD"],
			on: "evicted",
			to: "IDLE",
			event: "reqDropped"
		},
		{
			from: ["SIDR_REQ_RCVD"],
			on: "SIDR_REQ",
			duplicate: true
		},
		{
			from: ["SIDR_REQ_RCVD"],
			on: "sendSidrRep",
			to: "ANSWERED",
			send: "SIDR_REP",
			timer: "answer"
		},
		{
			from: ["SIDR_REQ_RCVD"],
			on: "close",
			to: "ANSWERED",
			send: "own SIDR_REP",
			timer: "answer"
		},
		{
			from: ["ANSWERED"],
			on: "SIDR_REQ",
			send: "SIDR_REP again",
			duplicate: true
		}
	]
};
const cmTransitions = Object.values(cmFigures).flat();
const rows = /* @__PURE__ */ new Map();
for (const row of cmTransitions) for (const state of row.from) {
	const key = `${state} ${row.on}`;
	const found = rows.get(key);
	if (found === void 0) rows.set(key, [row]);
	else found.push(row);
}
// src/cm/ib/timeouts.ts
/**
* Times as the messages of the communication manager carry them: codes of five bits, 4.096 µs * 2^code (InfiniBand
* Architecture Specification, volume 1, 12.6 and 12.7).
*/
const unitNs = 4096;
/** The duration of a code from 0 to 31: 14 is 67 ms, 20 is 4.3 s. */
function timeoutNs(code) {
	return unitNs * 2 ** code;
}
timeoutNs(24), timeoutNs(25);
cmPath({
	localGid: /* @__PURE__ */ new Uint8Array(16),
	remoteGid: /* @__PURE__ */ new Uint8Array(16)
});
timeoutNs(8);
// src/cm/rdma/constants.ts
/** `rdma_cm_event_type`: `RDMA_CM_EVENT_CONNECT_REQUEST` is `CmEventType.ConnectRequest`. */
const CmEventType = {
	AddrResolved: 0,
	AddrError: 1,
	RouteResolved: 2,
	RouteError: 3,
	ConnectRequest: 4,
	ConnectResponse: 5,
	ConnectError: 6,
	Unreachable: 7,
	Rejected: 8,
	Established: 9,
	Disconnected: 10,
	DeviceRemoval: 11,
	MulticastJoin: 12,
	MulticastError: 13,
	AddrChange: 14,
	TimewaitExit: 15
};
Object.keys(CmEventType).map((name) => `RDMA_CM_EVENT_${name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase()}`);
Mad.totalLength;
Buffer.alloc(1536).length;
// src/cm/rdma/agents.ts
/** By device, or by the context that the program has opened itself. */
const agents = /* @__PURE__ */ new Map();
process.prependListener("exit", () => {
	for (const agent of agents.values()) try {
		agent.farewell();
	} catch {}
});
QpType.RC, QpType.UC;
(/* @__PURE__ */ new Uint8Array(16)).fill(1, 15);
QpState.Init, Access.LocalWrite;
CmEventType.AddrError, CmEventType.RouteError, CmEventType.ConnectError, CmEventType.Unreachable, CmEventType.Rejected, CmEventType.DeviceRemoval, CmEventType.MulticastError;
// src/rsocket/protocol/constants.ts
/** Options of rsockets themselves, of rsocket.h; to be set before the socket connects or listens. */
const SOL_RDMA = 65536;
Object.fromEntries(Object.keys({
	badConnData: "the private data of the connection is not that of rsockets version 1",
	badImmediate: "the peer sent a message of an unknown kind",
	badControl: "the peer sent an unknown control message",
	badReceive: "the peer sent something other than an RDMA WRITE with immediate",
	emptyData: "the peer sent a data message without data",
	dataOverrun: "the peer wrote more than the receive buffers that it was given",
	creditOverrun: "the peer sent more messages than it had credits for",
	creditOverflow: "the peer granted more credits than its receive queue has entries",
	creditUnderflow: "the peer took credits back that it had granted",
	badSgl: "the peer offered a buffer outside of what it registered",
	sglOverflow: "the peer offered more buffers than it has",
	badIomap: "the peer mapped a buffer at an invalid entry or range",
	badFrame: "the peer sent an invalid frame on a trunk",
	framesNotTaken: "the peer takes no frames of a trunk, and too many wait for it",
	dataAfterShutdown: "the peer sent data after it had shut down"
}).map((name) => [name, 0]));
// src/rsocket/protocol/errno.ts
/**
* Error numbers of sockets. They are Linux's, unless `useErrno` says what another system has: the protocol itself knows no
* system.
*/
const numbers$1 = {
	EAGAIN: 11,
	EALREADY: 114,
	EADDRINUSE: 98,
	EADDRNOTAVAIL: 99,
	EAFNOSUPPORT: 97,
	EBADF: 9,
	EBUSY: 16,
	ECONNABORTED: 103,
	ECONNREFUSED: 111,
	ECONNRESET: 104,
	EDESTADDRREQ: 89,
	EFAULT: 14,
	EHOSTUNREACH: 113,
	EINPROGRESS: 115,
	EINTR: 4,
	EINVAL: 22,
	EIO: 5,
	EISCONN: 106,
	EMFILE: 24,
	EMSGSIZE: 90,
	ENETUNREACH: 101,
	ENOBUFS: 105,
	ENODEV: 19,
	ENOMEM: 12,
	ENOPROTOOPT: 92,
	ENOTCONN: 107,
	EOPNOTSUPP: 95,
	EPIPE: 32,
	EPROTO: 71,
	EPROTONOSUPPORT: 93,
	ETIMEDOUT: 110
};
/** Numbers of the errors that rsockets give; a call that fails returns one, negative. */
const Errno = numbers$1;
const names = /* @__PURE__ */ new Map();
function nameAll() {
	names.clear();
	for (const [name, number] of Object.entries(numbers$1)) names.set(number, name);
}
nameAll();
/** Takes the numbers of the system (`os.constants.errno`) where they differ. Before the first use of `Errno`. */
function useErrno(system) {
	for (const name of Object.keys(numbers$1)) {
		const number = system[name];
		if (number !== void 0 && number !== numbers$1[name]) numbers$1[name] = number;
	}
	nameAll();
}
new Uint8Array(new Uint16Array([1]).buffer)[0];
workCompletions(32);
// src/rsocket/protocol/connection.ts
/** Receives that are posted together. */
const receiveBatch = 16;
workCompletions(32);
/** A batch of receives without memory, linked: what comes is in the immediate data. */
const receives = Array.from({ length: receiveBatch }, () => new RecvWorkRequest(0, []));
for (let i = 1; i < receiveBatch; i++) receives[i - 1].next = receives[i];
// src/rsocket/protocol/socket-options.ts
/** The options of sockets: those that `setsockopt` and `getsockopt` know, and the values of each socket. */
/** Longest data message: what stands for the segment size of TCP. */
const segmentBytes$1 = 65536;
function flag(name) {
	return {
		get: (options) => options[name] ? 1 : 0,
		set(options, value) {
			options[name] = value !== 0;
		}
	};
}
function size(name, twice = false) {
	return {
		get: (options) => options.stream[name],
		set(options, value) {
			if (!(value >= 0)) return -Errno.EINVAL;
			options.stream[name] = twice ? value * 2 : value;
			options.chosen.add(name);
		}
	};
}
function atLeast(name, least) {
	return {
		get: (options) => options[name],
		set(options, value) {
			if (!(value >= least)) return -Errno.EINVAL;
			options[name] = value;
		}
	};
}
function fixed(value) {
	return {
		get: () => value,
		set: () => void 0
	};
}
const key = (level, name) => level * 4096 + name;
const table = /* @__PURE__ */ new Map([
	[key(1, 2), flag("reuseAddr")],
	[key(1, 15), {
		get: (options) => options.reusePort,
		set(options, value) {
			if (!(value >= 0 && value <= 2147483647)) return -Errno.EINVAL;
			options.reusePort = Math.trunc(value);
		}
	}],
	[key(1, 9), flag("keepAlive")],
	[key(1, 10), flag("oobInline")],
	[key(1, 6), flag("broadcast")],
	[key(1, 7), size("sendBufferBytes", true)],
	[key(1, 8), size("receiveBufferBytes", true)],
	[key(1, 13), {
		get: (options) => options.lingerSeconds + 1,
		set(options, value) {
			options.lingerSeconds = value;
		}
	}],
	[key(6, 1), flag("noDelay")],
	[key(6, 2), fixed(segmentBytes$1)],
	[key(6, 4), {
		get: (options) => options.keepIdleSeconds,
		set(options, value) {
			if (!(value > 0)) return -Errno.EINVAL;
			options.keepIdleSeconds = value;
		}
	}],
	[key(6, 5), fixed(75)],
	[key(6, 6), fixed(9)],
	[key(6, 13), fixed(0)],
	[key(41, 26), flag("v6Only")],
	[key(SOL_RDMA, 0), size("sqSize")],
	[key(SOL_RDMA, 1), size("rqSize")],
	[key(SOL_RDMA, 2), size("inlineBytes")],
	[key(SOL_RDMA, 3), size("iomapSize")],
	[key(SOL_RDMA, 256), {
		get: (options) => options.stream.extensions ? 1 : 0,
		set(options, value) {
			options.stream.extensions = value !== 0;
		}
	}],
	[key(SOL_RDMA, 258), {
		get: (options) => options.stream.share ? 1 : 0,
		set(options, value) {
			options.stream.share = value !== 0;
		}
	}],
	[key(SOL_RDMA, 259), atLeast("maxStreams", 1)],
	[key(SOL_RDMA, 260), atLeast("maxPeers", 2)],
	[key(SOL_RDMA, 257), {
		get: (options) => options.pollingUs,
		set(options, value) {
			if (!(value >= 0)) return -Errno.EINVAL;
			options.pollingUs = value;
		}
	}]
]);
const tos = {
	get: (options) => options.tos,
	set(options, value) {
		if (!(value >= 0 && value <= 255)) return -Errno.EINVAL;
		options.tos = value;
	}
};
table.set(key(0, 1), tos);
table.set(key(41, 67), tos);
// src/rsocket/runtime/system-errno.ts
/** Sets the error numbers to those of this system. */
useErrno(constants$2.errno);
// src/rsocket/runtime/spin-time.ts
/**
* How long to poll before sleeping. Polling pays while peers answer sooner than a sleep and a wake-up take. It does not where a
* peer takes longer, or where it cannot run because this thread polls: then whoever polls has every answer wait for that long.
* Which one it is shows only afterwards, so the next waits after one that polled in vain do not poll: one of them, and twice
* as many each time that it is in vain again.
*/
/** What sleeping and waking cost together. Polling for as long costs at most twice the best choice. */
const sleepCostNs = 1e5;
/** At most so many waits in a row do not poll: then one tries whether it pays again. */
const mostSkipped = 64;
var SpinTime = class {
	#skipped = 0;
	/** Waits that do not poll after the next one that polls in vain. */
	#next = 1;
	/** A wait begins: for how many nanoseconds it polls. */
	begin() {
		if (this.#skipped === 0) return sleepCostNs;
		this.#skipped--;
		return 0;
	}
	/** What the wait was for came while it polled. */
	paid() {
		this.#next = 1;
	}
	/** It did not. */
	wasted() {
		this.#skipped = this.#next;
		this.#next = Math.min(2 * this.#next, mostSkipped);
	}
};
new SpinTime();
new Int32Array(new SharedArrayBuffer(4));
// src/index.ts
/**
* The front door: the verbs, on all devices that Verbena has.
*
*     import { openDevice, Access, Opcode, QpType } from 'verbena'
*/
registerDriver(shmDriver);
registerDriver(roceDriver);
// src/collectives/error.ts
var CollectiveError = class extends Error {
	name = "CollectiveError";
	code;
	/** The rank that it is about; -1 if there is none. */
	rank;
	constructor(code, message, rank = -1, options) {
		super(message, options);
		this.code = code;
		this.rank = rank;
	}
};
// src/collectives/memory.ts
/** Memory that peers can write to: what users allocate, what stands in for arrays of theirs that the device cannot reach, and slots. */
var Memory = class {
	/** Views of all memory of the device. */
	u8;
	i32;
	f32;
	f64;
	#context;
	#pd;
	#regions = [];
	/** What users have allocated. */
	#given = [];
	constructor(context, pd) {
		this.#context = context;
		this.#pd = pd;
		const { buffer } = this.region(64).bytes;
		this.u8 = new Uint8Array(buffer);
		this.i32 = new Int32Array(buffer, 0, buffer.byteLength >>> 2);
		this.f32 = new Float32Array(buffer, 0, buffer.byteLength >>> 2);
		this.f64 = new Float64Array(buffer, 0, Math.floor(buffer.byteLength / 8));
	}
	/** Zeros that the peers can write to. */
	region(bytes) {
		const memory = this.#context.alloc(Math.max(64, bytes));
		const region = {
			bytes: memory.fill(0),
			mr: this.#pd.regMr(memory, Access.LocalWrite | Access.RemoteWrite)
		};
		this.#regions.push(region);
		return region;
	}
	free(region) {
		for (const list of [this.#regions, this.#given]) {
			const i = list.indexOf(region);
			if (i >= 0) list.splice(i, 1);
		}
		region.mr.close();
		this.#context.free(region.bytes);
	}
	/** An array that collectives use without a copy. */
	array(Type, length) {
		if (!Number.isSafeInteger(length) || length < 0) throw new CollectiveError("EINVAL", `alloc: length must be a number of elements, not ${length}`);
		const region = this.region(length * Type.BYTES_PER_ELEMENT);
		this.#given.push(region);
		return new Type(region.bytes.buffer, region.bytes.byteOffset, length);
	}
	/** Frees an array of `array`. */
	freeArray(array) {
		const region = this.#given.find(({ bytes }) => bytes.buffer === array.buffer && bytes.byteOffset === array.byteOffset);
		if (region === void 0) throw new CollectiveError("EINVAL", "free: the array is none that this communicator allocated");
		this.free(region);
	}
	/** Points `range` to the memory of an array, if it is allocated here; false if not. */
	find(array, range) {
		if (array.buffer !== this.u8.buffer) return false;
		const { byteOffset, byteLength } = array;
		for (const { bytes, mr } of this.#given) {
			const offset = byteOffset - bytes.byteOffset;
			if (offset < 0 || offset + byteLength > bytes.length) continue;
			point(range, {
				bytes,
				mr
			}, offset, byteLength);
			return true;
		}
		return false;
	}
	close() {
		for (const region of [...this.#regions]) this.free(region);
	}
};
function point(range, { bytes, mr }, offset, length) {
	range.at = bytes.byteOffset + offset;
	range.addr = mr.addr + offset;
	range.lkey = mr.lkey;
	range.rkey = mr.rkey;
	range.bytes = length;
}
/** A region that grows to what is asked for and keeps its size. */
var Staging = class {
	#memory;
	#region = null;
	constructor(memory) {
		this.#memory = memory;
	}
	/** Points `range` to `bytes` bytes, whose content is undefined. */
	reserve(range, bytes) {
		if (this.#region === null || this.#region.bytes.length < bytes) {
			let size = 4096;
			while (size < bytes) size *= 2;
			const next = this.#memory.region(size);
			if (this.#region !== null) this.#memory.free(this.#region);
			this.#region = next;
		}
		point(range, this.#region, 0, bytes);
	}
};
// src/collectives/lane.ts
/**
* One peer: a queue pair (RC) with slots for what it sends. Every message carries in its immediate how many slots its
* sender gives back, what it is, and to which call it belongs, so that ranks that disagree are told so.
*
*     bits 0 to 7     slots given back
*     bits 8 and 9    `Kind`
*     bits 10 to 31   `tagOf`: the collective, and the number of the call
*/
const Kind = {
	/** The data of a transfer. */
	Data: 0,
	/** They have been written to where `Ready` said. */
	Written: 1,
	/** Where the receiver of a long transfer wants it: address, length, key. */
	Ready: 2,
	/** Nothing but slots given back. */
	Credit: 3
};
/** Slots beside, for messages that only give slots back: one for each half of `dataSlots` that was used. */
const slots = 24;
/** Receives are posted so many at once; as long as they are not, they are none of `slots`. */
const repostTogether = 4;
/** Messages up to this are copied into their work request; the sender may reuse their memory at once. */
const inlineBytes = 256;
const readyBytes = 24;
const signalEvery = 8;
const sendRoom = 48;
const laneCap = {
	maxSendWr: sendRoom,
	maxRecvWr: slots,
	maxSendSge: 1,
	maxRecvSge: 1,
	maxInlineData: inlineBytes
};
var Lane = class {
	rank;
	qp;
	/**
	* Completions of this queue pair only, of its sends and of its receives: a completion queue with one producer needs no lock.
	*/
	sendCq;
	recvCq;
	#wcs = workCompletions(8);
	/** Bytes of a slot. */
	slotBytes;
	/** Slots of the peer that may be used. */
	credits = 16;
	/** Sends whose memory must not change yet. */
	outstanding = 0;
	/** Messages that nobody has taken, a ring: slot, bytes, kind and tag. */
	arrived = 0;
	#first = 0;
	#slot = /* @__PURE__ */ new Int32Array(16);
	#bytes = /* @__PURE__ */ new Float64Array(16);
	#word = /* @__PURE__ */ new Uint32Array(16);
	/** What the peer has said it is ready for, a ring. */
	readies = 0;
	#firstReady = 0;
	#readyAddr = /* @__PURE__ */ new Float64Array(16);
	#readyBytes = /* @__PURE__ */ new Float64Array(16);
	#readyKey = /* @__PURE__ */ new Uint32Array(16);
	#readyTag = /* @__PURE__ */ new Uint32Array(16);
	#memory;
	#at;
	#receives = [];
	/** Receives to post again, linked; posted together. */
	#freed = null;
	#freedCount = 0;
	#short;
	#long;
	#probeRequest;
	#probing = false;
	#notice;
	/** Slots used since the peer was last told. */
	#owed = 0;
	#posted = 0;
	#completed = 0;
	/** Of the sends that make a completion, a ring: how many had been posted with it, and whether its memory was in use. */
	#signaled = new Float64Array(sendRoom);
	#used = new Uint8Array(sendRoom);
	#signals = 0;
	#seen = 0;
	/** Its slots are `offset` bytes into `region`. `index`: which lane it is. */
	constructor(memory, { region, offset, slotBytes }, { rank, qp }) {
		this.#memory = memory;
		this.rank = rank;
		this.qp = qp;
		this.sendCq = qp.sendCq;
		this.recvCq = qp.recvCq;
		this.slotBytes = slotBytes;
		this.#at = region.bytes.byteOffset + offset;
		const { addr, lkey } = region.mr;
		for (let slot = 0; slot < slots; slot++) {
			const at = addr + offset + slot * slotBytes;
			this.#receives.push(recvWr({
				wrId: slot,
				sgList: [{
					addr: at,
					length: slotBytes,
					lkey
				}]
			}));
		}
		const notice = offset + slots * slotBytes;
		this.#notice = {
			at: region.bytes.byteOffset + notice,
			addr: addr + notice,
			lkey,
			rkey: 0,
			bytes: readyBytes
		};
		const sgList = [{
			addr: this.#notice.addr,
			length: 0,
			lkey
		}];
		this.#short = sendWr({
			opcode: Opcode.SendWithImm,
			immData: 0,
			sgList
		});
		this.#long = sendWr({
			opcode: Opcode.WriteWithImm,
			immData: 0,
			sgList,
			remoteAddr: 0,
			rkey: 0,
			sendFlags: SendFlag.Signaled
		});
		this.#probeRequest = sendWr({
			opcode: Opcode.Write,
			sendFlags: SendFlag.Signaled,
			sgList: [],
			remoteAddr: 0,
			rkey: 0
		});
	}
	static bytesOf(slotBytes) {
		return slots * slotBytes + 64;
	}
	postReceives() {
		for (const receive of this.#receives) this.qp.postRecv(receive);
	}
	get mayPost() {
		return this.credits > 0 && this.#posted - this.#completed < 46;
	}
	/** Sends `length` bytes, at most a slot. Needs `mayPost`. Up to `inlineBytes` their memory is free again at once. */
	send(kind, tag, addr, lkey, length) {
		this.credits--;
		this.#send(kind, tag, addr, lkey, length);
	}
	#send(kind, tag, addr, lkey, length) {
		const wr = this.#short;
		const sge = wr.sgList[0];
		sge.addr = length === 0 ? this.#notice.addr : addr;
		sge.length = length === 0 ? 4 : length;
		sge.lkey = lkey;
		const copied = length <= inlineBytes;
		this.#posted++;
		if (!copied) wr.sendFlags = SendFlag.Signaled;
		else wr.sendFlags = this.#posted % signalEvery === 0 ? SendFlag.Inline | SendFlag.Signaled : SendFlag.Inline;
		if ((wr.sendFlags & SendFlag.Signaled) !== 0) this.#willComplete(!copied);
		wr.immData = this.#immediate(kind, tag);
		this.qp.postSend(wr);
	}
	#willComplete(used) {
		const last = this.#signals++ % sendRoom;
		this.#signaled[last] = this.#posted;
		this.#used[last] = used ? 1 : 0;
		if (used) this.outstanding++;
	}
	/** Writes `length` bytes to where the peer is ready for them, and tells it. Needs `mayPost` and `readies`. */
	write(tag, addr, lkey, length) {
		const first = this.#firstReady;
		this.#firstReady = (first + 1) % 16;
		this.readies--;
		this.credits--;
		const wr = this.#long;
		const sge = wr.sgList[0];
		sge.addr = addr;
		sge.length = length;
		sge.lkey = lkey;
		wr.remoteAddr = this.#readyAddr[first];
		wr.rkey = this.#readyKey[first];
		wr.immData = this.#immediate(Kind.Written, tag);
		this.#posted++;
		this.#willComplete(true);
		this.qp.postSend(wr);
	}
	/** Bytes that the peer is ready for. */
	get readyFor() {
		return this.#readyBytes[this.#firstReady];
	}
	/** The call that it is ready for. */
	get readyTag() {
		return this.#readyTag[this.#firstReady];
	}
	/** Tells the peer where a long transfer shall go. Needs `mayPost`. */
	ready(tag, { addr, rkey }, offset, length) {
		const { at, addr: noticeAddr, lkey } = this.#notice;
		const { f64, i32 } = this.#memory;
		f64[at / 8] = addr + offset;
		f64[at / 8 + 1] = length;
		i32[at / 4 + 4] = rkey;
		this.send(Kind.Ready, tag, noticeAddr, lkey, readyBytes);
	}
	/** Writes nothing to the peer's memory: the completion tells whether the peer is there. */
	probe() {
		if (this.#probing || this.#posted - this.#completed >= 46) return;
		this.#probing = true;
		this.#posted++;
		this.#willComplete(false);
		this.qp.postSend(this.#probeRequest);
	}
	#immediate(kind, tag) {
		const word = (this.#owed | kind << 8 | tag << 10) >>> 0;
		this.#owed = 0;
		return word;
	}
	/** Takes what has completed. True if something has come. Throws a CollectiveError when the peer is gone. */
	poll() {
		const wcs = this.#wcs;
		const n = this.recvCq.poll(wcs);
		for (let i = 0; i < n; i++) {
			const wc = wcs[i];
			if (wc.status !== 0) throw this.#gone(wc.statusText);
			if (!this.#received(wc.wrId, wc.opcode === WcOpcode.Recv ? wc.byteLen : -1, wc.immData)) throw new CollectiveError("EPEER", `rank ${this.rank} sends what no communicator sends`, this.rank);
		}
		if (n < 0) throw this.#gone("the completion queue is in error");
		if (this.outstanding === 0 && this.#posted - this.#completed < slots && !this.#probing) return n > 0;
		return this.#pollSends() || n > 0;
	}
	#pollSends() {
		const n = this.sendCq.poll(this.#wcs);
		for (let i = 0; i < n; i++) {
			const wc = this.#wcs[i];
			if (wc.status !== 0) throw this.#gone(wc.statusText);
			const first = this.#seen++ % sendRoom;
			this.#completed = this.#signaled[first];
			this.outstanding -= this.#used[first];
			this.#probing = false;
		}
		if (n < 0) throw this.#gone("the completion queue is in error");
		return n > 0;
	}
	#gone(why) {
		return new CollectiveError("EPEER", `rank ${this.rank} cannot be reached any more: ${why}`, this.rank);
	}
	/** Asks for events with the next completions; what came before makes none. */
	arm() {
		this.recvCq.reqNotify();
		if (this.outstanding > 0 || this.#probing || !this.mayPost) this.sendCq.reqNotify();
	}
	/** A message is in `slot`. False if it is none that a peer of this kind sends. */
	#received(slot, bytes, immediate) {
		this.credits += immediate & 255;
		const kind = immediate >>> 8 & 3;
		if (kind === Kind.Credit) {
			this.#repost(slot);
			return this.credits <= 16;
		}
		if (kind === Kind.Ready) {
			if (this.readies === 16 || bytes !== readyBytes) return false;
			const at = this.#at + slot * this.slotBytes;
			const last = (this.#firstReady + this.readies++) % 16;
			const { f64, i32 } = this.#memory;
			this.#readyAddr[last] = f64[at / 8];
			this.#readyBytes[last] = f64[at / 8 + 1];
			this.#readyKey[last] = i32[at / 4 + 4];
			this.#readyTag[last] = immediate >>> 10;
			this.#release(slot);
			return this.credits <= 16;
		}
		if (this.arrived === 16) return false;
		const last = (this.#first + this.arrived++) % 16;
		this.#slot[last] = slot;
		this.#bytes[last] = bytes;
		this.#word[last] = immediate >>> 8;
		return this.credits <= 16;
	}
	get bytes() {
		return this.#bytes[this.#first];
	}
	/** Kind in the lowest two bits, the tag above. */
	get word() {
		return this.#word[this.#first];
	}
	/** Where its data are, unless they were written elsewhere: an offset in the device's memory. */
	get at() {
		return this.#at + this.#slot[this.#first] * this.slotBytes;
	}
	/** Its slot is free. */
	take() {
		const slot = this.#slot[this.#first];
		this.#first = (this.#first + 1) % 16;
		this.arrived--;
		this.#release(slot);
	}
	#release(slot) {
		this.#repost(slot);
		if (++this.#owed >= 8 && this.#posted - this.#completed < sendRoom) this.#send(Kind.Credit, 0, 0, 0, 0);
	}
	#repost(slot) {
		const receive = this.#receives[slot];
		receive.next = this.#freed;
		this.#freed = receive;
		if (++this.#freedCount < repostTogether) return;
		this.qp.postRecv(receive);
		this.#freed = null;
		this.#freedCount = 0;
	}
};
// src/collectives/mesh.ts
/** A queue pair to each of the other ranks, with completion queues of its own. */
/** Memory of all slots of a rank, at most, while a slot is longer than the shortest. */
const slotsBytes = 1 << 20;
const slotLengths = [
	8192,
	4096,
	2048,
	1024
];
/** What ranks tell each other of themselves, beside a queue pair number and a PSN for each peer. */
const headBytes = 20;
const entryBytes = 8;
var Mesh = class {
	/** By rank; null for this one. */
	lanes;
	/** The longest message that goes into a slot, bytes: the same at all ranks. */
	slotBytes;
	channel;
	/** Why nothing goes on any more. */
	failure = null;
	#rank;
	#context;
	#qps;
	#psns;
	#region;
	#gidIndex;
	constructor(context, pd, memory, { rank, size, gidIndex }) {
		this.#rank = rank;
		this.#context = context;
		this.#gidIndex = gidIndex;
		const peers = size - 1;
		this.slotBytes = slotLengths.find((bytes) => peers * Lane.bytesOf(bytes) <= slotsBytes) ?? slotLengths.at(-1);
		this.channel = context.createCompChannel();
		const { channel } = this;
		const ranks = Array.from({ length: size }, (_, i) => i);
		this.#qps = ranks.map((i) => {
			if (i === rank) return null;
			const sendCq = context.createCq(laneCap.maxSendWr, {
				channel,
				singleThreaded: true
			});
			const recvCq = context.createCq(laneCap.maxRecvWr, {
				channel,
				singleThreaded: true
			});
			return pd.createQp({
				type: QpType.RC,
				sendCq,
				recvCq,
				cap: laneCap
			});
		});
		this.#psns = ranks.map(() => randomPsn());
		this.#region = memory.region(peers * Lane.bytesOf(this.slotBytes));
		let index = 0;
		this.lanes = this.#qps.map((qp, peer) => {
			if (qp === null) return null;
			const place = {
				region: this.#region,
				offset: index * Lane.bytesOf(this.slotBytes),
				slotBytes: this.slotBytes
			};
			index++;
			return new Lane(memory, place, {
				rank: peer,
				qp
			});
		});
	}
	/** What the other ranks must know. */
	get address() {
		const bytes = new Uint8Array(headBytes + this.#qps.length * entryBytes);
		const view = new DataView(bytes.buffer);
		bytes.set(this.#context.queryGid(1, this.#gidIndex));
		view.setUint16(16, this.#context.queryPort(1).lid);
		for (const [i, qp] of this.#qps.entries()) {
			view.setUint32(headBytes + i * entryBytes, qp?.qpNum ?? 0);
			view.setUint32(headBytes + i * entryBytes + 4, this.#psns[i]);
		}
		return bytes;
	}
	/** Connects with what all ranks told, and posts receives. When every rank has done so, anybody may send. */
	connect(addresses) {
		for (const [peer, qp] of this.#qps.entries()) {
			if (qp === null) continue;
			const bytes = addresses[peer];
			if (bytes.length !== headBytes + this.#qps.length * entryBytes) throw new CollectiveError("EMISMATCH", `rank ${peer} is of another version`, peer);
			const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
			const at = headBytes + this.#rank * entryBytes;
			const remote = {
				gid: bytes.slice(0, 16),
				lid: view.getUint16(16),
				qpn: view.getUint32(at),
				psn: view.getUint32(at + 4)
			};
			connectQp(qp, { psn: this.#psns[peer] }, remote, { gidIndex: this.#gidIndex });
			this.lanes[peer].postReceives();
		}
	}
	/** The first reason counts. */
	fail(error) {
		if (this.failure === null) {
			this.failure = error;
			this.channel.wake();
		}
		return this.failure;
	}
	close() {
		for (const qp of this.#qps) qp?.close();
		for (const lane of this.lanes) {
			lane?.sendCq.close();
			lane?.recvCq.close();
		}
		this.channel.close();
	}
};
// src/collectives/schedule/schedule.ts
/**
* What one rank does in a collective, as data: rounds of copies, sends and receives. Whoever carries it out starts all
* transfers of a round together and begins the next round when they are done, as libNBC does (Hoefler, Lumsdaine, Rehm:
* Implementation and Performance Analysis of Non-Blocking Collective Operations for MPI, SC 2007).
*
* The transfers from one rank to another arrive in the order in which they were listed, so nothing needs a tag: the n-th send
* to a rank meets its n-th receive from here, and both have the same length.
*/
/** Whose memory a range is in. */
const Place = {
	/** What the caller gives. Never written. */
	Input: 0,
	/** What the caller gets. */
	Output: 1,
	/** Memory for intermediate results, of `Schedule.scratchBytes`. */
	Scratch: 2
};
/** Writes a schedule. Each method adds to the last round; `next` begins another one. */
var ScheduleBuilder = class {
	#rounds = [{
		copies: [],
		sends: [],
		receives: []
	}];
	#scratchBytes = 0;
	get #round() {
		return this.#rounds.at(-1);
	}
	/** What follows begins when all transfers before it are done. */
	next() {
		const { sends, receives } = this.#round;
		if (sends.length + receives.length > 0) this.#rounds.push({
			copies: [],
			sends: [],
			receives: []
		});
		return this;
	}
	/** A copy within a round comes before its transfers: after those, it begins the next round. */
	copy(from, fromOffset, to, toOffset, bytes) {
		if (bytes === 0) return this;
		this.next().#round.copies.push({
			from,
			fromOffset,
			to,
			toOffset,
			bytes
		});
		this.#reaches(from, fromOffset + bytes);
		this.#reaches(to, toOffset + bytes);
		return this;
	}
	send(peer, place, offset, bytes) {
		this.#round.sends.push({
			peer,
			place,
			offset,
			bytes,
			combine: false
		});
		this.#reaches(place, offset + bytes);
		return this;
	}
	receive(peer, place, offset, bytes) {
		this.#round.receives.push({
			peer,
			place,
			offset,
			bytes,
			combine: false
		});
		this.#reaches(place, offset + bytes);
		return this;
	}
	combine(peer, place, offset, bytes) {
		this.#round.receives.push({
			peer,
			place,
			offset,
			bytes,
			combine: true
		});
		this.#reaches(place, offset + bytes);
		return this;
	}
	done() {
		const { copies, sends, receives } = this.#round;
		if (copies.length + sends.length + receives.length === 0) this.#rounds.pop();
		return {
			rounds: this.#rounds,
			scratchBytes: this.#scratchBytes
		};
	}
	#reaches(place, end) {
		if (place === Place.Scratch && end > this.#scratchBytes) this.#scratchBytes = end;
	}
};
/** The rank's number when the root is 0. */
function relative({ rank, size, root }) {
	return (rank - root + size) % size;
}
/** The rank with a relative number, which may be from -size to 2 · size. */
function absolute({ size, root }, number) {
	return (number + size + root) % size;
}
/** Where part `i` of `size` parts begins, bytes: parts differ by one element at most. */
function partOf({ bytes, size, elementBytes }, i) {
	return Math.floor(i * (bytes / elementBytes) / size) * elementBytes;
}
/** The lowest bit that is set in the relative number; for 0, the first power of two that is not below `size`. */
function treeBit(number, size) {
	if (number !== 0) return number & -number;
	let bit = 1;
	while (bit < size) bit *= 2;
	return bit;
}
/** Ranks in the binomial subtree below a relative number, itself among them. They follow one another. */
function subtree(number, size) {
	return Math.min(treeBit(number, size), size - number);
}
/** The children of a relative number in the binomial tree, the one with the largest subtree first. */
function children(number, size) {
	const list = [];
	for (let bit = treeBit(number, size) / 2; bit >= 1; bit /= 2) if (number + bit < size) list.push(number + bit);
	return list;
}
function parent(number) {
	return number & number - 1;
}
// src/collectives/schedule/allgather.ts
/** Allgather: everybody's output gets the input of each rank, by rank. */
const { Input: Input$3, Output: Output$4, Scratch: Scratch$3 } = Place;
/** Parts go round: each rank passes on what it got last. */
function ring({ rank, size, bytes }) {
	const s = new ScheduleBuilder().copy(Input$3, 0, Output$4, rank * bytes, bytes);
	const left = (rank - 1 + size) % size;
	for (let step = 0; step < size - 1; step++) s.next().send((rank + 1) % size, Output$4, (rank - step + size) % size * bytes, bytes).receive(left, Output$4, (rank - step - 1 + size) % size * bytes, bytes);
	return s.done();
}
/** Pairs at distance 1, 2, 4, … exchange all that they have. For a number of ranks that is a power of two. */
function recursiveDoubling({ rank, size, bytes }) {
	const s = new ScheduleBuilder().copy(Input$3, 0, Output$4, rank * bytes, bytes);
	for (let distance = 1; distance < size; distance *= 2) {
		const peer = rank ^ distance;
		const block = distance * bytes;
		s.send(peer, Output$4, Math.floor(rank / distance) * block, block).receive(peer, Output$4, Math.floor(peer / distance) * block, block).next();
	}
	return s.done();
}
/** The same for any number of ranks: parts are kept in the order in which they come and turned at the end (Bruck et al. 1997). */
function bruck$1({ rank, size, bytes }) {
	const s = new ScheduleBuilder().copy(Input$3, 0, Scratch$3, 0, bytes);
	for (let distance = 1; distance < size; distance *= 2) {
		const length = Math.min(distance, size - distance) * bytes;
		s.send((rank - distance + size) % size, Scratch$3, 0, length).receive((rank + distance) % size, Scratch$3, distance * bytes, length).next();
	}
	s.copy(Scratch$3, 0, Output$4, rank * bytes, (size - rank) * bytes);
	return s.copy(Scratch$3, (size - rank) * bytes, Output$4, 0, rank * bytes).done();
}
/** Each to each, at once. */
function linear$3({ rank, size, bytes }) {
	const s = new ScheduleBuilder().copy(Input$3, 0, Output$4, rank * bytes, bytes);
	for (let i = 1; i < size; i++) s.send((rank + i) % size, Input$3, 0, bytes);
	for (let i = 1; i < size; i++) {
		const peer = (rank - i + size) % size;
		s.receive(peer, Output$4, peer * bytes, bytes);
	}
	return s.done();
}
// src/collectives/schedule/alltoall.ts
/** Alltoall: part j of rank i's input becomes part i of rank j's output. */
const { Input: Input$2, Output: Output$3, Scratch: Scratch$2 } = Place;
/** Each to each, at once. */
function linear$2({ rank, size, bytes }) {
	const s = new ScheduleBuilder().copy(Input$2, rank * bytes, Output$3, rank * bytes, bytes);
	for (let i = 1; i < size; i++) {
		const to = (rank + i) % size;
		s.send(to, Input$2, to * bytes, bytes);
	}
	for (let i = 1; i < size; i++) {
		const from = (rank - i + size) % size;
		s.receive(from, Output$3, from * bytes, bytes);
	}
	return s.done();
}
/** One peer after the other: at any time, each rank sends to one and receives from one. */
function pairwise({ rank, size, bytes }) {
	const s = new ScheduleBuilder().copy(Input$2, rank * bytes, Output$3, rank * bytes, bytes);
	for (let i = 1; i < size; i++) {
		const to = (rank + i) % size;
		const from = (rank - i + size) % size;
		s.send(to, Input$2, to * bytes, bytes).receive(from, Output$3, from * bytes, bytes).next();
	}
	return s.done();
}
/** ⌈log2 size⌉ messages for each rank: a part whose way has bit k set moves 2^k ranks in step k (Bruck et al. 1997). For small parts. */
function bruck({ rank, size, bytes }) {
	const s = new ScheduleBuilder();
	const all = size * bytes;
	const half = Math.floor(size / 2) * bytes;
	s.copy(Input$2, rank * bytes, Scratch$2, 0, (size - rank) * bytes);
	s.copy(Input$2, 0, Scratch$2, (size - rank) * bytes, rank * bytes);
	for (let bit = 1; bit < size; bit *= 2) {
		const moving = Array.from({ length: size }, (_, i) => i).filter((i) => (i & bit) !== 0);
		for (const [k, i] of moving.entries()) s.copy(Scratch$2, i * bytes, Scratch$2, all + k * bytes, bytes);
		s.send((rank + bit) % size, Scratch$2, all, moving.length * bytes);
		s.receive((rank - bit + size) % size, Scratch$2, all + half, moving.length * bytes).next();
		for (const [k, i] of moving.entries()) s.copy(Scratch$2, all + half + k * bytes, Scratch$2, i * bytes, bytes);
	}
	for (let i = 0; i < size; i++) s.copy(Scratch$2, i * bytes, Output$3, (rank - i + size) % size * bytes, bytes);
	return s.done();
}
// src/collectives/schedule/barrier.ts
/** Barriers: nobody leaves before everybody has come. */
/** Each rank tells the one 1, 2, 4, … further (Hensgen, Finkel, Manber 1988): ⌈log2 size⌉ rounds. */
function dissemination({ rank, size }) {
	const s = new ScheduleBuilder();
	for (let distance = 1; distance < size; distance *= 2) s.next().send((rank + distance) % size, Place.Output, 0, 0).receive((rank - distance + size) % size, Place.Output, 0, 0);
	return s.done();
}
/** All tell rank 0, which answers all. */
function linear$1({ rank, size }) {
	const s = new ScheduleBuilder();
	if (rank !== 0) return s.send(0, Place.Output, 0, 0).next().receive(0, Place.Output, 0, 0).done();
	for (let peer = 1; peer < size; peer++) s.receive(peer, Place.Output, 0, 0);
	s.next();
	for (let peer = 1; peer < size; peer++) s.send(peer, Place.Output, 0, 0);
	return s.done();
}
// src/collectives/schedule/broadcast.ts
/** Broadcasts: the root's output becomes everybody's. */
const { Output: Output$2 } = Place;
/** The root sends to each. */
function linear(task) {
	const s = new ScheduleBuilder();
	if (task.rank !== task.root) return s.receive(task.root, Output$2, 0, task.bytes).done();
	for (let i = 1; i < task.size; i++) s.send(absolute(task, i), Output$2, 0, task.bytes);
	return s.done();
}
/** Down a binomial tree: ⌈log2 size⌉ steps. */
function binomial(task) {
	const s = new ScheduleBuilder();
	const me = relative(task);
	if (me !== 0) s.receive(absolute(task, parent(me)), Output$2, 0, task.bytes).next();
	for (const child of children(me, task.size)) s.send(absolute(task, child), Output$2, 0, task.bytes);
	return s.done();
}
/** Bytes of a segment of the chain. */
const segmentBytes = 65536;
/** From rank to rank in segments, so that all links are busy at once. */
function chain(task) {
	const s = new ScheduleBuilder();
	const me = relative(task);
	const segments = Math.max(1, Math.ceil(task.bytes / segmentBytes));
	const lengthOf = (i) => Math.min(segmentBytes, task.bytes - i * segmentBytes);
	for (let i = 0; i <= segments; i++) {
		s.next();
		if (me > 0 && i < segments) s.receive(absolute(task, me - 1), Output$2, i * segmentBytes, lengthOf(i));
		if (me + 1 < task.size && i > 0) s.send(absolute(task, me + 1), Output$2, (i - 1) * segmentBytes, lengthOf(i - 1));
	}
	return s.done();
}
/**
* A binomial scatter of as many parts as there are ranks, then a ring that gives all parts to all (van de Geijn, as in
* Thakur, Rabenseifner, Gropp 2005): each rank sends and receives about twice the data, whatever the number of ranks.
*/
function scatterAllgather(task) {
	const s = new ScheduleBuilder();
	const { size } = task;
	const me = relative(task);
	const part = (i) => partOf({
		...task,
		elementBytes: 1
	}, i);
	if (me !== 0) {
		const from = part(me);
		s.receive(absolute(task, parent(me)), Output$2, from, part(me + subtree(me, size)) - from).next();
	}
	for (const child of children(me, size)) {
		const from = part(child);
		s.send(absolute(task, child), Output$2, from, part(child + subtree(child, size)) - from);
	}
	for (let step = 0; step < size - 1; step++) {
		const out = (me - step + size) % size;
		const into = (me - step - 1 + size) % size;
		s.next().send(absolute(task, me + 1), Output$2, part(out), part(out + 1) - part(out)).receive(absolute(task, me - 1), Output$2, part(into), part(into + 1) - part(into));
	}
	return s.done();
}
// src/collectives/schedule/gather.ts
/** Scatter: each rank gets its part of the root's input. Gather: the root's output gets the input of each rank, by rank. */
const { Input: Input$1, Output: Output$1, Scratch: Scratch$1 } = Place;
function scatterLinear(task) {
	const { rank, size, root, bytes } = task;
	const s = new ScheduleBuilder();
	if (rank !== root) return s.receive(root, Output$1, 0, bytes).done();
	s.copy(Input$1, rank * bytes, Output$1, 0, bytes);
	for (let i = 1; i < size; i++) {
		const peer = absolute(task, i);
		s.send(peer, Input$1, peer * bytes, bytes);
	}
	return s.done();
}
/** Down a binomial tree, each message with what the whole subtree gets. */
function scatterBinomial(task) {
	const { size, root, bytes } = task;
	const s = new ScheduleBuilder();
	const me = relative(task);
	const held = subtree(me, size);
	let place = Scratch$1;
	if (me === 0 && root === 0) place = Input$1;
	else if (me === 0) {
		s.copy(Input$1, root * bytes, Scratch$1, 0, (size - root) * bytes);
		s.copy(Input$1, 0, Scratch$1, (size - root) * bytes, root * bytes);
	} else if (held === 1) return s.receive(absolute(task, parent(me)), Output$1, 0, bytes).done();
	else s.receive(absolute(task, parent(me)), Scratch$1, 0, held * bytes).next();
	s.copy(place, 0, Output$1, 0, bytes);
	for (const child of children(me, size)) s.send(absolute(task, child), place, (child - me) * bytes, subtree(child, size) * bytes);
	return s.done();
}
function gatherLinear(task) {
	const { rank, size, root, bytes } = task;
	const s = new ScheduleBuilder();
	if (rank !== root) return s.send(root, Input$1, 0, bytes).done();
	s.copy(Input$1, 0, Output$1, rank * bytes, bytes);
	for (let i = 1; i < size; i++) {
		const peer = absolute(task, i);
		s.receive(peer, Output$1, peer * bytes, bytes);
	}
	return s.done();
}
/** Up a binomial tree, each message with what the whole subtree gives. */
function gatherBinomial(task) {
	const { size, root, bytes } = task;
	const s = new ScheduleBuilder();
	const me = relative(task);
	const held = subtree(me, size);
	if (me !== 0 && held === 1) return s.send(absolute(task, parent(me)), Input$1, 0, bytes).done();
	const place = me === 0 && root === 0 ? Output$1 : Scratch$1;
	s.copy(Input$1, 0, place, 0, bytes);
	for (const child of children(me, size)) s.receive(absolute(task, child), place, (child - me) * bytes, subtree(child, size) * bytes);
	s.next();
	if (me !== 0) s.send(absolute(task, parent(me)), Scratch$1, 0, held * bytes);
	else if (root !== 0) {
		s.copy(Scratch$1, 0, Output$1, root * bytes, (size - root) * bytes);
		s.copy(Scratch$1, (size - root) * bytes, Output$1, 0, root * bytes);
	}
	return s.done();
}
// src/collectives/schedule/reduce.ts
/** Reductions: the root's output (reduce) or everybody's (allreduce) is the combination of all inputs. */
const { Input, Output, Scratch } = Place;
/** The root combines the inputs in the order of relative numbers. */
function reduceLinear(task) {
	const { rank, size, root, bytes } = task;
	const s = new ScheduleBuilder();
	if (rank !== root) return s.send(root, Input, 0, bytes).done();
	s.copy(Input, 0, Output, 0, bytes);
	for (let i = 1; i < size; i++) s.combine(absolute(task, i), Output, 0, bytes);
	return s.done();
}
/** Up a binomial tree. */
function reduceBinomial(task) {
	const { size, bytes } = task;
	const s = new ScheduleBuilder();
	const me = relative(task);
	const below = children(me, size);
	if (me !== 0 && below.length === 0) return s.send(absolute(task, parent(me)), Input, 0, bytes).done();
	const place = me === 0 ? Output : Scratch;
	s.copy(Input, 0, place, 0, bytes);
	for (const child of below.reverse()) s.combine(absolute(task, child), place, 0, bytes);
	if (me !== 0) s.next().send(absolute(task, parent(me)), place, 0, bytes);
	return s.done();
}
/** Each part goes round once and is combined on its way: rank i then has part i + 1 of the result in `place`. */
function ringReduceScatter(s, task, place) {
	const { rank, size } = task;
	for (let step = 0; step < size - 1; step++) {
		const out = (rank - step + size) % size;
		const into = (rank - step - 1 + size) % size;
		s.next().send((rank + 1) % size, place, partOf(task, out), partOf(task, out + 1) - partOf(task, out)).combine((rank - 1 + size) % size, place, partOf(task, into), partOf(task, into + 1) - partOf(task, into));
	}
}
/** A ring that combines parts, which the root then gathers. For long messages. */
function reduceRing(task) {
	const { rank, size, root, bytes } = task;
	const place = rank === root ? Output : Scratch;
	const s = new ScheduleBuilder().copy(Input, 0, place, 0, bytes);
	ringReduceScatter(s, task, place);
	s.next();
	const partAt = (holder) => {
		const part = (holder + 1) % size;
		return [partOf(task, part), partOf(task, part + 1) - partOf(task, part)];
	};
	if (rank !== root) s.send(root, place, ...partAt(rank));
	else for (let peer = 0; peer < size; peer++) if (peer !== root) s.receive(peer, place, ...partAt(peer));
	return s.done();
}
/** Reduce to rank 0 and broadcast from there, both along a binomial tree. */
function allreduceTree(task) {
	const at0 = {
		...task,
		root: 0
	};
	const up = reduceBinomial(at0);
	const down = binomial(at0);
	return {
		rounds: [...up.rounds, ...down.rounds],
		scratchBytes: Math.max(up.scratchBytes, down.scratchBytes)
	};
}
/** A ring that combines parts, then one that gives all parts to all: the least data on each link. */
function allreduceRing(task) {
	const { rank, size, bytes } = task;
	const s = new ScheduleBuilder().copy(Input, 0, Output, 0, bytes);
	ringReduceScatter(s, task, Output);
	for (let step = 0; step < size - 1; step++) {
		const out = (rank + 1 - step + size) % size;
		const into = (rank - step + size) % size;
		s.next().send((rank + 1) % size, Output, partOf(task, out), partOf(task, out + 1) - partOf(task, out)).receive((rank - 1 + size) % size, Output, partOf(task, into), partOf(task, into + 1) - partOf(task, into));
	}
	return s.done();
}
/**
* Steps between a power of two of ranks, for any number of ranks: of the first ranks, the even ones hand their input to their
* neighbour and get the result from it. `steps` gets the number among those that go on, how many these are, and the rank of
* each of them.
*/
function folded(task, steps) {
	const { rank, size, bytes } = task;
	let count = 1;
	while (count * 2 <= size) count *= 2;
	const extra = size - count;
	const s = new ScheduleBuilder();
	if (rank < 2 * extra && rank % 2 === 0) return s.send(rank + 1, Input, 0, bytes).next().receive(rank + 1, Output, 0, bytes).done();
	s.copy(Input, 0, Output, 0, bytes);
	const partner = rank < 2 * extra ? rank - 1 : -1;
	if (partner >= 0) s.combine(partner, Output, 0, bytes).next();
	steps(s, partner >= 0 ? (rank - 1) / 2 : rank - extra, count, (me) => me < extra ? 2 * me + 1 : me + extra);
	if (partner >= 0) s.next().send(partner, Output, 0, bytes);
	return s.done();
}
/** Pairs at distance 1, 2, 4, … exchange and combine all: ⌈log2 size⌉ steps. For short messages. */
function allreduceRecursiveDoubling(task) {
	return folded(task, (s, me, count, rankOf) => {
		for (let distance = 1; distance < count; distance *= 2) {
			const peer = rankOf(me ^ distance);
			s.next().send(peer, Output, 0, task.bytes).combine(peer, Output, 0, task.bytes);
		}
	});
}
/** Pairs exchange and combine halves, quarters, … and then give the parts back the same way (Rabenseifner 2004). */
function allreduceHalvingDoubling(task) {
	const elements = task.bytes / task.elementBytes;
	const at = (element) => element * task.elementBytes;
	return folded(task, (s, me, count, rankOf) => {
		let [from, to] = [0, elements];
		const way = [];
		for (let distance = count / 2; distance >= 1; distance /= 2) {
			const peer = rankOf(me ^ distance);
			const middle = from + Math.floor((to - from) / 2);
			const lower = [from, middle];
			const upper = [middle, to];
			const [mine, theirs] = (me & distance) === 0 ? [lower, upper] : [upper, lower];
			s.next().send(peer, Output, at(theirs[0]), at(theirs[1] - theirs[0])).combine(peer, Output, at(mine[0]), at(mine[1] - mine[0]));
			way.push({
				peer,
				mine,
				theirs
			});
			[from, to] = mine;
		}
		for (const { peer, mine, theirs } of way.reverse()) s.next().send(peer, Output, at(mine[0]), at(mine[1] - mine[0])).receive(peer, Output, at(theirs[0]), at(theirs[1] - theirs[0]));
	});
}
// src/collectives/schedule/algorithms.ts
/** The collectives and their algorithms, by name. */
/** By collective; of each, the first one is never wrong. */
const algorithms = {
	barrier: {
		dissemination,
		linear: linear$1
	},
	broadcast: {
		binomial,
		linear,
		chain,
		"scatter-allgather": scatterAllgather
	},
	scatter: {
		binomial: scatterBinomial,
		linear: scatterLinear
	},
	gather: {
		binomial: gatherBinomial,
		linear: gatherLinear
	},
	allgather: {
		ring,
		bruck: bruck$1,
		linear: linear$3,
		"recursive-doubling": recursiveDoubling
	},
	reduce: {
		binomial: reduceBinomial,
		linear: reduceLinear,
		ring: reduceRing
	},
	allreduce: {
		"recursive-doubling": allreduceRecursiveDoubling,
		ring: allreduceRing,
		"halving-doubling": allreduceHalvingDoubling,
		tree: allreduceTree
	},
	alltoall: {
		pairwise,
		linear: linear$2,
		bruck
	}
};
const collectives = Object.keys(algorithms);
/** Those of a collective that work for so many ranks. */
function algorithmsOf(collective, size) {
	const powerOfTwo = (size & size - 1) === 0;
	return Object.keys(algorithms[collective]).filter((name) => powerOfTwo || collective !== "allgather" || name !== "recursive-doubling");
}
/** What one rank does. Throws a RangeError for an algorithm that the collective does not have, or not for so many ranks. */
function scheduleOf(collective, algorithm, task) {
	const names = algorithmsOf(collective, task.size);
	if (!names.includes(algorithm)) throw new RangeError(`${collective} among ${task.size} ranks has no algorithm ${JSON.stringify(algorithm)}: it has ${names.join(", ")}`);
	return algorithms[collective][algorithm](task);
}
// src/collectives/runner.ts
/** State of a transfer in the present round. */
const waiting = 0;
/** The peer knows where it shall go. */
const announced = 1;
const done = 2;
const emptyRange = () => ({
	at: 0,
	addr: 0,
	lkey: 0,
	rkey: 0,
	bytes: 0
});
var Runner = class {
	/** Memory of the places, which the caller points to what it has before `begin`. */
	places = [
		emptyRange(),
		emptyRange(),
		emptyRange()
	];
	#mesh;
	#memory;
	#lanes;
	#scratch;
	#arrivals;
	/** Where long transfers go that are combined. */
	#arrival = emptyRange();
	#call = null;
	#index = 0;
	#round = null;
	#sent = /* @__PURE__ */ new Uint8Array(64);
	#received = /* @__PURE__ */ new Uint8Array(64);
	#sendsLeft = 0;
	#receivesLeft = 0;
	constructor(mesh, memory) {
		this.#mesh = mesh;
		this.#memory = memory;
		this.#lanes = mesh.lanes;
		this.#scratch = new Staging(memory);
		this.#arrivals = new Staging(memory);
	}
	begin(call) {
		const { schedule } = call;
		if (schedule.scratchBytes > 0) this.#scratch.reserve(this.places[Place.Scratch], schedule.scratchBytes);
		this.#call = call;
		this.#index = -1;
		this.#next();
	}
	/** Makes sure that those live who have to send something, or to say what they are ready for. */
	probe() {
		const round = this.#round;
		if (round === null) return;
		for (const [i, { peer }] of round.sends.entries()) if (this.#sent[i] !== done) this.#lanes[peer].probe();
		for (const [i, { peer }] of round.receives.entries()) if (this.#received[i] !== done) this.#lanes[peer].probe();
	}
	/** Asks for events of what this call waits for. */
	arm() {
		const { sends, receives } = this.#round;
		for (const { peer } of sends) this.#lanes[peer].arm();
		for (const { peer } of receives) this.#lanes[peer].arm();
	}
	/** The call that is under way, in words. */
	get what() {
		return this.#call === null ? "nothing" : this.#call.nameOf(this.#call.tag);
	}
	/** The ranks that it waits for. */
	get whom() {
		const round = this.#round;
		if (round === null) return "nobody";
		const of = (transfers, state) => transfers.filter((_, i) => state[i] !== done).map(({ peer }) => peer);
		return `rank ${[.../* @__PURE__ */ new Set([...of(round.receives, this.#received), ...of(round.sends, this.#sent)])].sort((a, b) => a - b).join(", ")}`;
	}
	/** Drops what is under way: the communicator has failed. */
	drop() {
		this.#call = null;
		this.#round = null;
	}
	/** Does what can be done now. True when the call is over. */
	step() {
		while (this.#round !== null) {
			const left = this.#sendsLeft + this.#receivesLeft;
			if (this.#sendsLeft > 0) this.#send();
			if (this.#receivesLeft > 0) this.#receive();
			if (this.#sendsLeft + this.#receivesLeft === 0 && this.#quiet()) this.#next();
			else if (this.#sendsLeft + this.#receivesLeft === left) return false;
		}
		return true;
	}
	#next() {
		const { rounds } = this.#call.schedule;
		const round = ++this.#index < rounds.length ? rounds[this.#index] : null;
		this.#round = round;
		if (round === null) {
			this.#call = null;
			return;
		}
		const { copies, sends, receives } = round;
		for (let i = 0; i < copies.length; i++) {
			const { from, fromOffset, to, toOffset, bytes } = copies[i];
			const source = this.places[from].at + fromOffset;
			const target = this.places[to].at + toOffset;
			if (source !== target) this.#copy(target, source, bytes);
		}
		this.#sendsLeft = sends.length;
		this.#receivesLeft = receives.length;
		if (sends.length > this.#sent.length) this.#sent = new Uint8Array(2 * sends.length);
		if (receives.length > this.#received.length) this.#received = new Uint8Array(2 * receives.length);
		for (let i = 0; i < sends.length; i++) this.#sent[i] = waiting;
		for (let i = 0; i < receives.length; i++) this.#received[i] = waiting;
		if (this.#sendsLeft > 0) this.#send();
	}
	/** Whether the memory of all sends of the round is free again. */
	#quiet() {
		const { sends } = this.#round;
		for (let i = 0; i < sends.length; i++) {
			const lane = this.#lanes[sends[i].peer];
			if (lane.outstanding === 0) continue;
			lane.poll();
			if (lane.outstanding !== 0) return false;
		}
		return true;
	}
	#send() {
		const { sends } = this.#round;
		const { tag } = this.#call;
		const { slotBytes } = this.#mesh;
		for (let i = 0; i < sends.length; i++) {
			if (this.#sent[i] === done) continue;
			const { peer, place, offset, bytes } = sends[i];
			const lane = this.#lanes[peer];
			if (!lane.mayPost && !(lane.poll() && lane.mayPost)) continue;
			const from = this.places[place];
			if (bytes <= slotBytes) lane.send(Kind.Data, tag, from.addr + offset, from.lkey, bytes);
			else {
				if (lane.readies === 0) lane.poll();
				if (lane.readies === 0) {
					if (lane.arrived > 0) this.#check(lane, tag);
					continue;
				}
				if (lane.readyTag !== tag) throw this.#elsewhere(lane, lane.readyTag, tag);
				if (lane.readyFor !== bytes) throw this.#lengths(lane, lane.readyFor, bytes);
				lane.write(tag, from.addr + offset, from.lkey, bytes);
			}
			this.#sent[i] = done;
			this.#sendsLeft--;
		}
	}
	#receive() {
		const { receives } = this.#round;
		const { tag, combine } = this.#call;
		const { slotBytes } = this.#mesh;
		let combining = this.#sendsLeft === 0 && this.#quiet();
		for (let i = 0; i < receives.length; i++) {
			if (this.#received[i] === done) continue;
			const receive = receives[i];
			const { peer, place, offset, bytes } = receive;
			const lane = this.#lanes[peer];
			const long = bytes > slotBytes;
			if (long && this.#received[i] === waiting && !this.#announce(lane, receive, i)) continue;
			if (receive.combine && !combining) continue;
			combining &&= !receive.combine;
			if (lane.arrived === 0 && !(lane.poll() && lane.arrived > 0)) continue;
			if (lane.word >>> 2 !== tag) this.#check(lane, tag);
			if ((lane.word & 3) !== (long ? Kind.Written : Kind.Data) || !long && lane.bytes !== bytes && (bytes > 0 || lane.bytes !== 4)) throw this.#lengths(lane, lane.bytes, bytes);
			const to = this.places[place].at + offset;
			if (receive.combine) combine(to, long ? this.#arrival.at : lane.at, bytes);
			else if (!long && bytes > 0) this.#copy(to, lane.at, bytes);
			lane.take();
			combining ||= receive.combine;
			this.#received[i] = done;
			this.#receivesLeft--;
		}
	}
	/** Copies `bytes` bytes; few of them, when they are whole words, without a call. */
	#copy(to, from, bytes) {
		if (bytes <= 64 && ((to | from | bytes) & 3) === 0) {
			const { i32 } = this.#memory;
			for (let i = 0; i < bytes / 4; i++) i32[to / 4 + i] = i32[from / 4 + i];
		} else this.#memory.u8.copyWithin(to, from, from + bytes);
	}
	/** Tells the sender of a long transfer where it shall go. False if that has to wait. */
	#announce(lane, { place, offset, bytes, combine }, i) {
		if (!lane.mayPost && !(lane.poll() && lane.mayPost)) return false;
		if (combine) {
			const { receives } = this.#round;
			for (let k = 0; k < i; k++) if (receives[k].combine && this.#received[k] !== done) return false;
			this.#arrivals.reserve(this.#arrival, bytes);
			lane.ready(this.#call.tag, this.#arrival, 0, bytes);
		} else lane.ready(this.#call.tag, this.places[place], offset, bytes);
		this.#received[i] = announced;
		return true;
	}
	/** Throws unless the oldest message of the lane belongs to this call. */
	#check(lane, tag) {
		const theirs = lane.word >>> 2;
		if (theirs !== tag) throw this.#elsewhere(lane, theirs, tag);
	}
	#elsewhere(lane, theirs, tag) {
		const { nameOf } = this.#call;
		const message = `rank ${lane.rank} is in ${nameOf(theirs)} where this rank is in ${nameOf(tag)}`;
		return this.#mesh.fail(new CollectiveError("EMISMATCH", message, lane.rank));
	}
	#lengths(lane, theirs, ours) {
		const what = theirs < 0 ? "a long message" : `${theirs} bytes`;
		const message = `${this.#call.nameOf(this.#call.tag)}: rank ${lane.rank} has ${what} where this rank has ${ours}: counts or types differ`;
		return this.#mesh.fail(new CollectiveError("EMISMATCH", message, lane.rank));
	}
};
// src/collectives/combine.ts
const operations = [
	"sum",
	"min",
	"max"
];
/**
* Each loop is a function of its own, although they read alike: V8 compiles a function for the kinds of arrays that it has seen,
* and one for all kinds is several times slower.
*/
function combines({ i32, f32, f64 }) {
	const { min, max } = Math;
	const words = (loop) => (to, from, bytes) => loop(to / 4, from / 4, bytes >>> 2);
	const doubles = (loop) => (to, from, bytes) => loop(to / 8, from / 8, bytes >>> 3);
	return {
		sum: {
			Int32: words((a, b, n) => {
				for (let i = 0; i < n; i++) i32[a + i] = i32[a + i] + i32[b + i];
			}),
			Float32: words((a, b, n) => {
				for (let i = 0; i < n; i++) f32[a + i] = f32[a + i] + f32[b + i];
			}),
			Float64: doubles((a, b, n) => {
				for (let i = 0; i < n; i++) f64[a + i] = f64[a + i] + f64[b + i];
			})
		},
		min: {
			Int32: words((a, b, n) => {
				for (let i = 0; i < n; i++) i32[a + i] = min(i32[a + i], i32[b + i]);
			}),
			Float32: words((a, b, n) => {
				for (let i = 0; i < n; i++) f32[a + i] = min(f32[a + i], f32[b + i]);
			}),
			Float64: doubles((a, b, n) => {
				for (let i = 0; i < n; i++) f64[a + i] = min(f64[a + i], f64[b + i]);
			})
		},
		max: {
			Int32: words((a, b, n) => {
				for (let i = 0; i < n; i++) i32[a + i] = max(i32[a + i], i32[b + i]);
			}),
			Float32: words((a, b, n) => {
				for (let i = 0; i < n; i++) f32[a + i] = max(f32[a + i], f32[b + i]);
			}),
			Float64: doubles((a, b, n) => {
				for (let i = 0; i < n; i++) f64[a + i] = max(f64[a + i], f64[b + i]);
			})
		}
	};
}
// src/collectives/arguments.ts
function typeOf(array) {
	if (array instanceof Float64Array) return "Float64";
	if (array instanceof Float32Array) return "Float32";
	return array instanceof Int32Array ? "Int32" : "";
}
/** Whose array a collective looks at. */
const nobody = 0;
const theRoot = 1;
const everybody = 2;
const takesInput = {
	barrier: nobody,
	broadcast: nobody,
	scatter: theRoot,
	gather: everybody,
	allgather: everybody,
	reduce: everybody,
	allreduce: everybody,
	alltoall: everybody
};
const givesOutput = {
	barrier: nobody,
	broadcast: everybody,
	scatter: everybody,
	gather: theRoot,
	allgather: everybody,
	reduce: theRoot,
	allreduce: everybody,
	alltoall: everybody
};
function wrong({ collective }, why) {
	return new CollectiveError("EINVAL", `${collective}: ${why}`);
}
/** `array` if this rank has to give it, or null. */
function needed(args, name, who, atRoot) {
	if (who === nobody || who === theRoot && !atRoot) return null;
	const array = args[name];
	if (!ArrayBuffer.isView(array) || array instanceof DataView || array.length === void 0) throw wrong(args, `${name} must be a typed array`);
	return array;
}
/** Sets what follows from what a call is given. Throws a CollectiveError (EINVAL) that says what is wrong. */
function check(args, rank, size) {
	const { collective, root, operation } = args;
	if (!Number.isInteger(root) || root < 0 || root >= size) throw wrong(args, `root must be a rank from 0 to ${size - 1}, not ${root}`);
	const input = needed(args, "input", takesInput[collective], rank === root);
	const output = needed(args, "output", givesOutput[collective], rank === root);
	args.input = input;
	args.output = output;
	const first = input ?? output;
	args.type = first === null ? "" : typeOf(first);
	args.elementBytes = args.type === "" ? 1 : first.BYTES_PER_ELEMENT;
	if (operation !== null) {
		if (!operations.includes(operation)) throw wrong(args, `the operation must be one of ${operations.join(", ")}, not ${JSON.stringify(operation)}`);
		if (args.type === "") throw wrong(args, "arrays must be Int32Array, Float32Array or Float64Array");
		if (output !== null && typeOf(output) !== args.type) throw wrong(args, "input and output must be of one type");
	}
	args.bytes = bytesOf(args, size);
}
/** What `Task.bytes` counts. */
function bytesOf(args, size) {
	const input = args.input === null ? -1 : args.input.byteLength;
	const output = args.output === null ? -1 : args.output.byteLength;
	switch (args.collective) {
		case "barrier": return 0;
		case "scatter": return fits(args, input, size * output, output);
		case "gather":
		case "allgather": return fits(args, output, size * input, input);
		case "alltoall":
			if (input % size !== 0) throw wrong(args, `input has ${input} bytes, which ${size} ranks cannot share`);
			return fits(args, output, input, input / size);
		default: return fits(args, output, input < 0 ? output : input, Math.max(input, output));
	}
}
/** `result`, if the other array of the call has the length that belongs to it, or does not matter here (-1). */
function fits(args, other, wanted, result) {
	if (other >= 0 && other !== wanted) throw wrong(args, `${args.collective === "scatter" ? "input" : "output"} has ${other} bytes where ${wanted} belong`);
	return result;
}
/** Where the arrays of calls are for the device. */
var Stage = class {
	#memory;
	#staging;
	/** Whether the array is a copy. */
	copied = false;
	constructor(memory) {
		this.#memory = memory;
		this.#staging = new Staging(memory);
	}
	/** Points `range` to the array, or to memory of its length; `fill`: with its content. */
	place(range, array, fill) {
		this.copied = !this.#memory.find(array, range);
		if (!this.copied) return;
		this.#staging.reserve(range, array.byteLength);
		if (fill) write(this.#memory, range.at, array);
	}
};
/** Elements up to which a loop is faster than a call. */
const few = 16;
function write({ f64, f32, i32, u8 }, at, array) {
	const { length } = array;
	if (array instanceof Float64Array) {
		if (length > few) f64.set(array, at / 8);
		else for (let i = 0; i < length; i++) f64[at / 8 + i] = array[i];
	} else if (array instanceof Float32Array) {
		if (length > few) f32.set(array, at / 4);
		else for (let i = 0; i < length; i++) f32[at / 4 + i] = array[i];
	} else if (array instanceof Int32Array) {
		if (length > few) i32.set(array, at / 4);
		else for (let i = 0; i < length; i++) i32[at / 4 + i] = array[i];
	} else u8.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
}
/** Copies what is at `at` to an array. */
function read({ f64, f32, i32, u8 }, at, array) {
	const { length } = array;
	if (array instanceof Float64Array) {
		if (length > few) array.set(f64.subarray(at / 8, at / 8 + length));
		else for (let i = 0; i < length; i++) array[i] = f64[at / 8 + i];
	} else if (array instanceof Float32Array) {
		if (length > few) array.set(f32.subarray(at / 4, at / 4 + length));
		else for (let i = 0; i < length; i++) array[i] = f32[at / 4 + i];
	} else if (array instanceof Int32Array) {
		if (length > few) array.set(i32.subarray(at / 4, at / 4 + length));
		else for (let i = 0; i < length; i++) array[i] = i32[at / 4 + i];
	} else {
		const bytes = array.byteLength;
		new Uint8Array(array.buffer, array.byteOffset, bytes).set(u8.subarray(at, at + bytes));
	}
}
// src/collectives/caller.ts
/** Calls: from what the user gives to what the runner carries out, and back. */
const types = [
	"",
	"Int32",
	"Float32",
	"Float64"
];
/**
* A call in 22 bits, as messages carry it: bits 0 to 8 its number, 9 to 14 the root, 15 and 16 the operation, 17 and 18 the type
* of the elements, 19 to 21 the collective. Root and number are cut off.
*/
const numbers = 512;
const roots = 64;
function codeOf({ collective, root, operation, type }) {
	const op = operation === null ? 0 : 1 + operations.indexOf(operation);
	const elements = operation === null ? 0 : types.indexOf(type);
	return ((collectives.indexOf(collective) << 4 | elements << 2 | op) * roots + root % roots) * numbers;
}
/** What a tag means, in words. */
function nameOf(tag) {
	const name = collectives[tag >>> 19];
	const operation = operations[(tag >>> 15 & 3) - 1];
	const about = operation === void 0 ? "" : ` (${operation} of ${types[tag >>> 17 & 3]})`;
	const root = Math.floor(tag / numbers) % roots;
	return `${name}${about}${[
		"broadcast",
		"scatter",
		"gather",
		"reduce"
	].includes(name) ? ` with root ${root}` : ""} as call ${tag % numbers}`;
}
var Caller = class {
	#runner;
	#memory;
	#chooser;
	#rank;
	#size;
	#combines;
	#input;
	#output;
	/** The last call, and what it was given; `undefined` for an array that has to be copied anew each time. */
	#latest = null;
	#latestInput = void 0;
	#latestOutput = void 0;
	/** The last call of each collective: often the next is like it. */
	#last = /* @__PURE__ */ new Map();
	#prepared = /* @__PURE__ */ new Map();
	#args = {
		collective: "barrier",
		root: 0,
		input: null,
		output: null,
		operation: null,
		bytes: 0,
		elementBytes: 1,
		type: ""
	};
	#number = 0;
	constructor(runner, memory, chooser, { rank, size }) {
		this.#runner = runner;
		this.#memory = memory;
		this.#chooser = chooser;
		this.#rank = rank;
		this.#size = size;
		this.#combines = combines(memory);
		this.#input = new Stage(memory);
		this.#output = new Stage(memory);
	}
	/** Throws a CollectiveError (EINVAL) before anything happens. */
	begin(collective, root, input, output, operation) {
		const latest = this.#latest;
		let call;
		if (latest !== null && input === this.#latestInput && output === this.#latestOutput && collective === latest.collective && root === latest.root && operation === latest.operation) call = latest;
		else call = this.#prepare(collective, root, input, output, operation);
		this.#number = (this.#number + 1) % numbers;
		call.tag = call.code + this.#number;
		this.#runner.begin(call);
	}
	#prepare(collective, root, input, output, operation) {
		const args = this.#args;
		args.collective = collective;
		args.root = root;
		args.input = input;
		args.output = output;
		args.operation = operation;
		this.#latest = null;
		check(args, this.#rank, this.#size);
		const places = this.#runner.places;
		this.#output.copied = this.#input.copied = false;
		if (args.output !== null) this.#output.place(places[Place.Output], args.output, collective === "broadcast" && root === this.#rank);
		if (args.input !== null) this.#input.place(places[Place.Input], args.input, true);
		if (args.input !== null && args.output !== null && !this.#input.copied && !this.#output.copied) this.#apart(args);
		const call = this.#callOf(args);
		this.#latest = call;
		this.#latestInput = this.#input.copied ? void 0 : input;
		this.#latestOutput = this.#output.copied ? void 0 : output;
		return call;
	}
	/** The memory of arrays may have changed hands. */
	forget() {
		this.#latest = null;
	}
	/** After the last step. */
	finish() {
		if (!this.#output.copied && !this.#input.copied) return;
		const args = this.#args;
		if (this.#output.copied) read(this.#memory, this.#runner.places[Place.Output].at, args.output);
		args.input = null;
		args.output = null;
	}
	#apart({ collective, operation }) {
		const [input, output] = this.#runner.places;
		if (input.at + input.bytes <= output.at || output.at + output.bytes <= input.at) return;
		if (operation === null || input.at !== output.at) throw new CollectiveError("EINVAL", `${collective}: input and output overlap`);
	}
	#callOf(args) {
		const { collective, bytes, root, elementBytes, operation, type } = args;
		const code = codeOf(args);
		const last = this.#last.get(collective);
		if (last !== void 0 && last.code === code && last.bytes === bytes && last.root === root) return last;
		const key = `${collective} ${bytes} ${root} ${operation} ${type}`;
		let prepared = this.#prepared.get(key);
		if (prepared === void 0) {
			const algorithm = this.#chooser.choose(collective, bytes);
			const task = {
				rank: this.#rank,
				size: this.#size,
				bytes,
				root,
				elementBytes
			};
			const combine = operation === null ? null : this.#combines[operation][type];
			prepared = {
				schedule: scheduleOf(collective, algorithm, task),
				combine,
				tag: 0,
				nameOf,
				collective,
				root,
				operation,
				bytes,
				code
			};
			if (this.#prepared.size >= 256) this.#prepared.clear();
			this.#prepared.set(key, prepared);
		}
		this.#last.set(collective, prepared);
		return prepared;
	}
};
// src/collectives/choose.ts
/** Which algorithm a call takes: the first rule that it fits. */
/**
* From the algorithms' costs: while a message costs more than its bytes, the fewest messages after one another; then the fewest
* bytes on each link (Thakur, Rabenseifner, Gropp 2005).
*/
const defaults = [
	{
		collective: "barrier",
		algorithm: "dissemination"
	},
	{
		collective: "broadcast",
		algorithm: "binomial",
		maxBytes: 16384
	},
	{
		collective: "broadcast",
		algorithm: "binomial",
		maxRanks: 3
	},
	{
		collective: "broadcast",
		algorithm: "scatter-allgather"
	},
	{
		collective: "scatter",
		algorithm: "binomial",
		maxBytes: 2048
	},
	{
		collective: "scatter",
		algorithm: "linear"
	},
	{
		collective: "gather",
		algorithm: "binomial",
		maxBytes: 2048
	},
	{
		collective: "gather",
		algorithm: "linear"
	},
	{
		collective: "allgather",
		algorithm: "recursive-doubling",
		maxBytes: 8192
	},
	{
		collective: "allgather",
		algorithm: "bruck",
		maxBytes: 1024
	},
	{
		collective: "allgather",
		algorithm: "ring"
	},
	{
		collective: "reduce",
		algorithm: "binomial",
		maxBytes: 16384
	},
	{
		collective: "reduce",
		algorithm: "binomial",
		maxRanks: 3
	},
	{
		collective: "reduce",
		algorithm: "ring"
	},
	{
		collective: "allreduce",
		algorithm: "recursive-doubling",
		maxBytes: 8192
	},
	{
		collective: "allreduce",
		algorithm: "halving-doubling",
		maxBytes: 262144
	},
	{
		collective: "allreduce",
		algorithm: "ring"
	},
	{
		collective: "alltoall",
		algorithm: "bruck",
		maxBytes: 128
	},
	{
		collective: "alltoall",
		algorithm: "pairwise"
	}
];
/** Rules of the user's come first, then the defaults. */
var Chooser = class {
	#size;
	#rules;
	/** Throws a CollectiveError (EINVAL) for a table with a rule that there is not. */
	constructor(size, table = null) {
		this.#size = size;
		const own = table === null ? [] : checked(table);
		const fits = (rule) => size <= (rule.maxRanks ?? size) && algorithmsOf(rule.collective, size).includes(rule.algorithm);
		const rules = [...own, ...defaults].filter(fits);
		this.#rules = Object.fromEntries(collectives.map((name) => [name, rules.filter(({ collective }) => collective === name)]));
	}
	choose(collective, bytes) {
		return this.#rules[collective].find(({ maxBytes }) => maxBytes === void 0 || bytes <= maxBytes)?.algorithm ?? algorithmsOf(collective, this.#size)[0];
	}
};
function checked(table) {
	const wrong = (why) => new CollectiveError("EINVAL", `decision table: ${why}`);
	if (table.version !== 1 || !Array.isArray(table.rules)) throw wrong("it must be {\"version\": 1, \"rules\": […]}");
	for (const [i, rule] of table.rules.entries()) {
		if (!collectives.includes(rule.collective)) throw wrong(`rule ${i + 1} has no collective ${JSON.stringify(rule.collective)}: ${collectives.join(", ")}`);
		const names = algorithmsOf(rule.collective, 16);
		if (!names.includes(rule.algorithm)) throw wrong(`rule ${i + 1}: ${rule.collective} has ${names.join(", ")}, not ${JSON.stringify(rule.algorithm)}`);
		for (const key of ["maxRanks", "maxBytes"]) if (rule[key] !== void 0 && !(Number.isInteger(rule[key]) && rule[key] >= 0)) throw wrong(`rule ${i + 1}: ${key} must be a whole number, not ${JSON.stringify(rule[key])}`);
	}
	return table.rules;
}
// cb2.mts
const ends = [0, 1].map((rank) => {
	const context = openDevice("shm0");
	const pd = context.allocPd();
	const memory = new Memory(context, pd);
	const mesh = new Mesh(context, pd, memory, {
		rank,
		size: 2,
		gidIndex: 0
	});
	const runner = new Runner(mesh, memory);
	return {
		memory,
		mesh,
		runner,
		caller: new Caller(runner, memory, new Chooser(2), {
			rank,
			size: 2
		})
	};
});
for (const e of ends) e.mesh.connect(ends.map((x) => x.mesh.address));
const [a, b] = ends;
const ain = a.memory.array(Float64Array, 1);
const aout = a.memory.array(Float64Array, 1);
const bin = b.memory.array(Float64Array, 1);
const bout = b.memory.array(Float64Array, 1);
const one = () => {
	a.caller.begin("allreduce", 0, ain, aout, "sum");
	b.caller.begin("allreduce", 0, bin, bout, "sum");
	while (!(a.runner.step() && b.runner.step()));
	a.caller.finish();
	b.caller.finish();
};
const bar = () => {
	a.caller.begin("barrier", 0, null, null, null);
	b.caller.begin("barrier", 0, null, null, null);
	while (!(a.runner.step() && b.runner.step()));
	a.caller.finish();
	b.caller.finish();
};
for (const [n, f] of [
	["allreduce", one],
	["barrier", bar],
	["allreduce", one]
]) {
	for (let i = 0; i < 5e4; i++) f();
	const c = process.cpuUsage(), t = performance.now(), N = Number(process.env.N ?? 5e5);
	for (let i = 0; i < N; i++) f();
	const d = process.cpuUsage(c);
	console.log(n, "per rank", ((performance.now() - t) * 1e6 / N / 2).toFixed(0), "ns wall", ((d.user + d.system) * 1e3 / N / 2).toFixed(0), "ns cpu");
}
process.exit(0);
export {};
