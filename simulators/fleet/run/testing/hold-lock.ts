/** Locks the folders of a fleet until the process is killed: `hold-lock.ts OUT STATE`. */
import process from 'node:process';
import { lockFolders } from '../ready.ts';

const [out = '', stateDir = ''] = process.argv.slice(2);
const held = lockFolders({ out, stateDir, scenario: { name: 'test', phases: [] } });
process.send?.('locked');
process.once('disconnect', () => held[Symbol.dispose]());
