import type { Command } from 'commander';
import { measurePeerCalls, type PeerCalls } from '../bench/call-peers.js';
import { CALL_NAMES, measureCallTimes, type CallName, type CallTimes } from '../bench/calls.js';
import { commandLine, describeMachine } from '../bench/machine.js';
import { defaultPython } from '../bench/peers.js';
import type { Spread } from '../bench/statistics.js';
import { assertWritable } from '../files/assert-writable.js';
import { chooseDevice } from '../options/choose-device.js';
import { significant } from '../output/format.js';
import type { Output } from '../output/output.js';
import { sub, withNames, writeJson, type NamedBenchOptions } from './bench-suite.js';
import { action } from './with-output.js';

interface CallsOptions extends NamedBenchOptions<CallName> {
  readonly keops?: string;
}

/** `mercer bench calls`. */
export function benchCallsCommand(): Command {
  const command = sub(
    'calls',
    'host time of ordinary and prepared calls of small problems, beside torch and KeOps',
  );
  return withNames(command, CALL_NAMES)
    .option('--keops <folder>', 'a checkout of KeOps, for that peer where it is not installed')
    .action(action(calls));
}

async function calls(output: Output, options: CallsOptions): Promise<void> {
  await assertWritable(options.out);
  const device = chooseDevice(options.device);
  const names = [...new Set(options.operations)];
  const startedAt = new Date().toISOString();
  const measured = await measureCallTimes(device, names, (name) => output.progress.update(name));
  const python = options.peers ? (options.python ?? defaultPython()) : undefined;
  const peers = python && (await measurePeerCalls(python, device.id, options.keops));
  const result = {
    schema: 1,
    suite: 'calls',
    command: commandLine(),
    startedAt,
    machine: describeMachine(),
    device: { id: device.id, name: device.name },
    unit: 'microseconds of host time a call',
    calls: measured,
    ...(peers === undefined || peers === '' ? {} : { peers: ofNames(peers, names) }),
  };
  await writeJson(options.out, result);
  output.result(result, () => render(output, measured, result.peers));
}

const ofNames = (peers: PeerCalls, names: readonly CallName[]): PeerCalls => ({
  ...peers,
  calls: peers.calls.filter(({ call }) => names.includes(call)),
});

function render(
  output: Output,
  measured: readonly CallTimes[],
  peers: PeerCalls | undefined,
): string {
  const us = (times: Spread | undefined): string =>
    times === undefined ? '-' : `${significant(times.median)} us`;
  const rows = measured.flatMap(({ call, ordinary, prepared }) => [
    [call, 'mercer', us(ordinary.idleUs), us(ordinary.busyUs)],
    ...(prepared ? [[call, 'mercer, prepared', us(prepared.idleUs), us(prepared.busyUs)]] : []),
    ...(peers?.calls ?? [])
      .filter((other) => other.call === call)
      .map(({ peer, idleUs, busyUs }) => [call, peer, us(idleUs), us(busyUs)]),
  ]);
  const table = output.table(
    [
      { head: 'call' },
      { head: 'library' },
      { head: 'device idle', align: 'right' },
      { head: 'device busy', align: 'right' },
    ],
    rows,
  );
  const missing = (peers?.missing ?? []).map((why) => `\nNot measured: ${why}`);
  return `${output.heading('Host time of a call, median')}\n${table}${missing.join('')}`;
}
