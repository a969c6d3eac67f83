/**
 * Node's HTTP. An `import` of `node:http` reads every export, and the first look at `WebSocket` loads a web client: 50
 * ms of processor at each start.
 */
import { getBuiltinModule } from 'node:process';

export const http = getBuiltinModule('node:http');
