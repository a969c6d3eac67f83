import { describe, expect, test } from 'vitest';
import { deviceTargetOptions } from './check-options.ts';
import { checkPlatform } from './commands/check.ts';
import { commandLine, complete, type OptionTable, storable } from './options.ts';

const table = {
  socket: { type: 'string', describe: 'Socket' },
  token: { type: 'string', describe: 'Token', secret: 'MUSTER_TOKEN' },
  only: { type: 'string', array: true, describe: 'Checks' },
  patience: { type: 'number', default: 10, describe: 'Seconds' },
  fast: { type: 'boolean', describe: 'Fast' },
} as const satisfies OptionTable;

describe('options', () => {
  const given = { token: 'k', only: ["it's", 'b'], fast: true };
  const options = complete(table, given);

  test('have their defaults, and flags are false unless they are given', () => {
    expect(complete(table, {})).toEqual({ patience: 10, fast: false });
    expect(options).toEqual({ ...given, patience: 10 });
  });

  test('are stored without secrets and defaults', () => {
    expect(storable(table, options)).toEqual({ only: ["it's", 'b'], fast: true });
  });

  test('form a command line with variables in place of secrets', () => {
    expect(commandLine(['check'], table, options)).toBe(
      `muster check --token "$MUSTER_TOKEN" --only 'it'\\''s' b --fast`,
    );
  });
});

test('every option that takes a credential is declared as a secret', () => {
  const secrets = Object.entries({ ...deviceTargetOptions, ...checkPlatform.options } as OptionTable)
    .filter(([, { secret }]) => secret !== undefined)
    .map(([name]) => name);
  expect(secrets.sort()).toEqual(['api-key', 'limited-key', 'token']);
});
