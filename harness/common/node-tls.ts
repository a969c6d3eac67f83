/** Node's TLS without `import`, which loads the root certificates: 20 ms of processor time at each start. */
import { getBuiltinModule } from 'node:process';

export const tls = getBuiltinModule('node:tls');
