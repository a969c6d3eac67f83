#!/usr/bin/env node
/** Starts the command `muster`, or tells the user which Node is required. Even Node 12 must parse this file. */
const [place, main, cache] = findMain();
const { engines } = require(place);
const needed = engines.node.replace('>=', '');
// Exit code for failures of Muster (EXIT.harness); exit code 1 would mean that a MUST failed.
const FAILED = 3;

if (isOlder(process.versions.node, needed)) {
  const found = `this is Node ${process.versions.node} (${process.execPath})`;
  process.stderr.write(`muster: needs Node ${needed} or later, and ${found}: npm i -D node brings one\n`);
  process.exitCode = FAILED;
} else {
  // Exit code of a process that ends before `main` has finished.
  process.exitCode = FAILED;
  // Caches compiled code for faster starts.
  require('node:module').enableCompileCache(cache);
  import(main).catch((error) => {
    process.stderr.write(`muster: ${error.stack}\n`);
    process.exitCode = FAILED;
  });
}

/** Finds package.json and the entry file, in a package or in a checkout, which has its own compile cache. */
function findMain() {
  try {
    return [require.resolve('../../package.json'), './main.ts', `${__dirname}/../../node_modules/.cache/muster`];
  } catch (_) {
    return [require.resolve('../../../package.json'), './main.js'];
  }
}

function isOlder(version, than) {
  const [major, minor] = version.split('.').map(Number);
  const [leastMajor, leastMinor] = than.split('.').map(Number);
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}
