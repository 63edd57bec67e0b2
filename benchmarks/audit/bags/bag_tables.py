"""SQLite3 files whose tables are computed, or hold values of other types."""

from __future__ import annotations

from pathlib import Path

from benchmarks.audit.bags.small_bags import TOPICS, Make, recording, write_sqlite3

_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
_MESSAGES = "DROP TABLE messages; CREATE "


def by_table() -> dict[str, Make]:
    """Return makers of SQLite3 files by what is wrong with their tables."""

    def after(sql: str) -> Make:
        def make(folder: Path) -> Path:
            path = folder / "a.db3"
            write_sqlite3(path, TOPICS, recording(), sql)
            return path

        return make

    update = "UPDATE messages SET "
    return {
        "an endless view of messages": after(
            f"{_MESSAGES}VIEW messages AS {_ENDLESS}"
            f" SELECT i AS id, 1 AS topic_id, i AS timestamp, zeroblob(9) AS data FROM n;"
        ),
        "an endless view of topics": after(
            f"DROP TABLE topics; CREATE VIEW topics AS {_ENDLESS} SELECT i AS id, 'x' AS name,"
            " 'y' AS type, 'cdr' AS serialization_format, '' AS offered_qos_profiles,"
            " '' AS type_description_hash FROM n;"
        ),
        "an endless view of definitions": after(
            f"DROP TABLE message_definitions; CREATE VIEW message_definitions AS {_ENDLESS} SELECT"
            " i AS id, 'x' AS topic_type, 'ros2msg' AS encoding,"
            " 'y' AS encoded_message_definition, '' AS type_description_hash FROM n;"
        ),
        "an endless view of the schema": after(
            f"DROP TABLE schema; CREATE VIEW schema AS {_ENDLESS}"
            " SELECT max(i) AS schema_version FROM n;"
        ),
        "computed data": after(
            f"{_MESSAGES}TABLE messages(id INTEGER PRIMARY KEY, topic_id INT, timestamp INT,"
            " data BLOB AS (zeroblob(900000000)));"
            " INSERT INTO messages(topic_id, timestamp) VALUES (1, 1), (1, 2), (1, 3);"
        ),
        "a virtual table": after(
            f"{_MESSAGES}VIRTUAL TABLE messages USING fts5(id, topic_id, timestamp, data);"
        ),
        "data of integers": after(f"{update}data = 10000000000;"),
        "data of text": after(f"{update}data = 'hello';"),
        "data of numbers": after(f"{update}data = 1.5;"),
        "times of text": after(f"{update}timestamp = 'now';"),
        "times of numbers": after(f"{update}timestamp = 1e30;"),
        "topics of text": after(f"{update}topic_id = 'joints';"),
        "a name that is no text": after("UPDATE topics SET name = zeroblob(9);"),
        "a type that is no text": after("UPDATE topics SET type = 7;"),
        "a definition that is no text": after(
            "UPDATE message_definitions SET encoded_message_definition = 7;"
        ),
        "profiles of laughs": after(
            "UPDATE topics SET offered_qos_profiles = 'a: &a [x,x,x]' || char(10)"
            " || 'b: &b {<<: [*a,*a]}';"
        ),
        "topics under one number": after(
            "CREATE TABLE t AS SELECT * FROM topics; DROP TABLE topics; ALTER TABLE t RENAME TO"
            f" topics; {_ENDLESS} INSERT INTO topics SELECT 1, 'n' || i, 'x', 'cdr', '', ''"
            " FROM n LIMIT 9000; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
            " LIMIT 200000) INSERT INTO messages SELECT 1000 + i, 1, i, x'00' FROM n;"
        ),
        "no messages table": after("DROP TABLE messages;"),
        "no columns of messages": after(f"{_MESSAGES}TABLE messages(x);"),
        "two hundred thousand topics": after(
            f"{_ENDLESS} INSERT INTO topics SELECT 10 + i, 'n' || i, 'x', 'cdr', '', '' FROM n"
            " LIMIT 200000;"
        ),
    }
