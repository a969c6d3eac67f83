/**
 * Test certificate and key of localhost, from `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1
 * -nodes -days 36500 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost`.
 */
export const localhostTls = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUAcQJApXld1cXSe9AVugwzKXbYaAwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA0MjMzMloYDzIxMjYxMDI4
MDQyMzMyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASleThTw4fiRDTChETUoTlAl7EeqCEYCchftJHotaDVOcwArakDubjf
dU283CPIXWaJJWNtcjWiRIffvXp2PSv/o28wbTAdBgNVHQ4EFgQU078c7DlCFaG8
3dN+XIemYKMT/mwwHwYDVR0jBBgwFoAU078c7DlCFaG83dN+XIemYKMT/mwwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3QwCgYIKoZI
zj0EAwIDSAAwRQIhAObco05z6QWY/rPQMzp+Y8VS+M9g8qV/RlrEZzoU41M/AiAi
lL0omachSrxZ896mRLvvWErWB/CSYnO2qJFjnQgJOw==
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQga4uLcCQSj8DZ8Gn+
2cgAuC0Wizz+JY+Y4kmBwwycLZyhRANCAASleThTw4fiRDTChETUoTlAl7EeqCEY
CchftJHotaDVOcwArakDubjfdU283CPIXWaJJWNtcjWiRIffvXp2PSv/
-----END PRIVATE KEY-----
`,
};
