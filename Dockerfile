# Muster in a container: data in /var/lib/muster, configuration files (if any) in /etc/muster. How to run it is in
# docs/install.md.

FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# Without scripts: nothing native is compiled, and `prepare` would want the sources, which come in the next layer.
RUN npm ci --ignore-scripts
COPY . .
RUN node engine/wasm/build.mjs \
  && node node_modules/typescript/bin/tsc -b server \
  && node server/bundle.mjs \
  && npm prune --omit=dev --ignore-scripts

FROM node:24-bookworm-slim
# They decompress commands in half the time, and compress answers in less than that.
RUN apt-get update && apt-get install -y --no-install-recommends libdeflate0 libisal2 && rm -rf /var/lib/apt/lists/*
RUN useradd --system --uid 10001 --home-dir /var/lib/muster --shell /usr/sbin/nologin muster \
  && install -d -o muster -g muster -m 0700 /var/lib/muster \
  && install -d -m 0755 /etc/muster \
  && ln -s /opt/muster/bin/muster /usr/local/bin/muster
WORKDIR /opt/muster
COPY --from=build /build/package.json /build/LICENSE ./
COPY --from=build /build/bin ./bin
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist/program ./dist/program

# Inside the container the cleartext listener has to be on all addresses to be reachable at all: who reaches it is decided
# where the port is published.
ENV NODE_ENV=production \
  MUSTER_CONFIG=/etc/muster \
  MUSTER_DATA=/var/lib/muster \
  MUSTER_HTTP=0.0.0.0:8080
VOLUME /var/lib/muster
EXPOSE 8080 8081
USER muster
HEALTHCHECK --interval=10s --timeout=5s --start-period=2m CMD ["node", "-e", "fetch((process.env.MUSTER_URL || 'http://127.0.0.1:8080') + '/status/v1/simple').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["muster"]
CMD ["start"]
