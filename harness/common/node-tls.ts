/** Loads Node's TLS without `import`, which would cost 20 ms of processor time at each start. */
import { getBuiltinModule } from 'node:process';

export const tls = getBuiltinModule('node:tls');
