FROM python:3.13-slim AS build
WORKDIR /app
COPY requirements.lock .
RUN python -m venv /venv \
 && /venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.lock \
 && /venv/bin/python -m pip uninstall --yes pip
COPY manage.py ./
COPY config config
COPY gateway_app gateway_app
COPY sessions_app sessions_app
COPY skills_app skills_app
COPY templates templates
# Any secret will do here: it is used for nothing and kept nowhere.
RUN DAYBOOK_SECRET_KEY=build DAYBOOK_DATA_DIR=/var/lib/daybook /venv/bin/python manage.py collectstatic --no-input \
 && mkdir -p /var/lib/daybook/uploads /var/lib/daybook/deliveries \
 && rm -rf /var/lib/daybook/metrics/* \
 && /venv/bin/python -m compileall -q .

FROM python:3.13-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin daybook
COPY --from=build /venv /venv
COPY --from=build /app /app
COPY --from=build --chown=daybook:daybook /var/lib/daybook /var/lib/daybook
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    DAYBOOK_PRODUCTION=true \
    DAYBOOK_DATA_DIR=/var/lib/daybook \
    DAYBOOK_HOST=0.0.0.0
WORKDIR /app
USER daybook
EXPOSE 8000
CMD ["python", "-m", "config.web"]
