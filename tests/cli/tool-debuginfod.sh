# SPDX-License-Identifier: MIT
# --debuginfod: separate debug information from a server, by build id.  Without the option
# no server is queried; what a server does not have, or cannot be used, is one line.
. "$SRC/tests/cli/libtracedump.sh"
sym=$BIN/tracesym
need python3 arm-linux-gnueabi-gcc arm-linux-gnueabi-objcopy arm-linux-gnueabi-strip
python3 -c 'import ctypes; ctypes.CDLL("libdebuginfod.so.1")' 2>/dev/null || {
    echo "needs libdebuginfod.so.1"
    exit 77
}

# A program whose code is where `mktrace mapped' has it, with a function that only .symtab
# and DWARF know
cat >app.c <<'END'
int secret(void)
{
    return 1;
}
END
arm-linux-gnueabi-gcc -marm -march=armv7-a -g -O2 -nostdlib -static \
    -Wl,-e,secret,-Ttext=0x10000,-z,max-page-size=4096,--build-id=0x1234ab01 -o whole app.c || exit 1
arm-linux-gnueabi-objcopy --only-keep-debug whole whole.debug
arm-linux-gnueabi-strip -o app whole
"$TOOLS/mktrace" mapped "$PWD/app" t.ctr || exit 1

# MODE/buildid/ID/debuginfo
cat >server.py <<'END'
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open("requests", "a").write(self.path + "\n")
        mode, what = self.path[1:].split("/", 1)
        if mode not in ("good", "garbage") or what != "buildid/1234ab01/debuginfo":
            return self.send_error(404)
        data = open("whole.debug", "rb").read() if mode == "good" else b"garbage" * 99
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
open("port.new", "w").write(str(server.server_port))
os.rename("port.new", "port")
server.serve_forever()
END
python3 server.py &
server=$!
trap 'kill "$server"' EXIT
for _ in $(seq 300); do
    [ -s port ] && break
    sleep 0.1
done
[ -s port ] || { fail "no server"; finish; }
url=http://127.0.0.1:$(cat port)
: >requests

# from MODE [OPTION...]: tracesym with that server and an empty cache
from() {
    rm -rf cache
    env -u http_proxy -u https_proxy -u all_proxy DEBUGINFOD_URLS="$url/$1" \
        DEBUGINFOD_CACHE_PATH="$PWD/cache" DEBUGINFOD_TIMEOUT=20 \
        "$sym" "${@:2}" t.ctr >stdout 2>stderr || fail "$*: status $?: $(cat stderr)"
}
# without [WHAT]: no name
without() {
    grep -q secret stdout && fail "$1: a name: $(cat stdout)"
    grep -q ' app+0x10000' stdout || fail "$1: $(cat stdout)"
}

from good
silent "no option"
without "no option"
[ ! -s requests ] || fail "a server was queried: $(cat requests)"
from good --debuginfod
silent "--debuginfod"
grep -q " app secret+0x0 $PWD/app.c:" stdout || fail "--debuginfod: $(cat stdout)"
grep -qx /good/buildid/1234ab01/debuginfo requests || fail "requests: $(cat requests)"
run 0 env DEBUGINFOD_URLS="$url/good" DEBUGINFOD_CACHE_PATH="$PWD/cache" \
    "$BIN/tracedump" -q --debuginfod --pc secret t.ctr
[ -s stdout ] || fail "tracedump --pc"
run 0 env DEBUGINFOD_URLS="$url/good" DEBUGINFOD_CACHE_PATH="$PWD/cache" \
    "$BIN/tracecov" -q --debuginfod -f text t.ctr
grep -q secret stdout || fail "tracecov: $(cat stdout)"

# What is here is used; servers are not queried.
mkdir -p dir/.build-id/12
cp whole.debug dir/.build-id/12/34ab01.debug
: >requests
from good --debuginfod --debug-dir=dir
grep -q ' app secret+0x0' stdout || fail "--debug-dir: $(cat stdout)"
[ ! -s requests ] || fail "a server was queried: $(cat requests)"

from missing --debuginfod
one_line "missing"
grep -q 'app: no server of DEBUGINFOD_URLS has its debug information' stderr || fail "$(cat stderr)"
without "missing"
from garbage --debuginfod
one_line "garbage"
grep -q 'app: what a server of DEBUGINFOD_URLS sent is not its debug information' stderr || fail "$(cat stderr)"
without "garbage"
from missing -q --debuginfod
silent "missing -q"
url=http://127.0.0.1:1
from down --debuginfod
one_line "down"
grep -q 'app: its debug information cannot be downloaded (.*); the servers .* are not queried any more' stderr ||
    fail "$(cat stderr)"
without "down"
run 0 env -u DEBUGINFOD_URLS "$sym" --debuginfod t.ctr
one_line "no servers"
grep -q -- '--debuginfod: DEBUGINFOD_URLS names no server' stderr || fail "$(cat stderr)"
without "no servers"
finish
