"""Every bound on what is allocated or looped over, with its unit and its reason."""

#: Consistency: bytes of appends and reads that a model keeps to compare them; messages of Offramp whose digests it
#: keeps, and writers whose level it keeps (200 bytes each); times of acknowledgements of SBP 0.1 that it keeps.
CONSISTENCY_BYTES_MAX = 256 * 1024 * 1024
CONSISTENCY_EVENTS_MAX = 1_000_000
CONSISTENCY_WRITERS_MAX = 1_000_000
CONSISTENCY_ACKNOWLEDGEMENTS_MAX = 4_096

#: Capture: one packet record. tcpdump's largest snap length is 262,144; USB and loop captures reach 1 MiB.
PACKET_BYTES_MAX = 16 * 1024 * 1024
#: Capture: one pcapng block (a packet block with its options, or a secrets block).
BLOCK_BYTES_MAX = 32 * 1024 * 1024
#: Capture: interfaces of one pcapng section.
INTERFACES_MAX = 65_536
#: Capture: fragments of one IP datagram (65,535 bytes in pieces of 8) and datagrams waiting for theirs.
IP_FRAGMENTS_MAX = 8_192
IP_DATAGRAMS_WAITING_MAX = 1_024
#: Capture: places that a joint of an index may have to name (fragments that wait, interface blocks), at 60 bytes each:
#: where there would be more is no joint. Usual captures have a few.
JOINT_PLACES_MAX = 16_384
#: Capture: the index of a capture that is kept beside it (at the usual distance of joints 10 GB take 40 KB).
INDEX_CACHE_BYTES_MAX = 64 * 1024 * 1024
#: Pipeline: bytes of the copy of a packed capture on disk: this many, or this many times the bytes of the file where
#: that is more. Real captures pack to a half or a twentieth; gzip can pack nothing into a thousandth, zstd into less.
UNPACKED_BYTES_FREE = 256 * 1024 * 1024
UNPACKED_TIMES_MAX = 100
#: Capture: connections tracked at once; the longest idle one is closed first.
CONNECTIONS_MAX = 100_000
#: Capture: out-of-order bytes held for one direction of one connection, and for all together.
FLOW_BYTES_MAX = 16 * 1024 * 1024
FLOWS_BYTES_MAX = 256 * 1024 * 1024
#: Capture: holes remembered for one direction, at 140 bytes each; the oldest are merged, at least 3. Bytes that come
#: after their hole was given up come within seconds: behind a thousand younger holes none do.
FLOW_HOLES_MAX = 1_024

#: Storage: attempts in a row that fail until a read is given up, the seconds before the second one (twice as many
#: before each further one), and the bytes after a failure that make the next one the first of a row.
REMOTE_ATTEMPTS_MAX = 5
REMOTE_PAUSE_S = 0.25
REMOTE_PROGRESS_BYTES = 64 * 1024
#: Storage: seconds until a connection stands, and until a server that has stopped sending is given up.
REMOTE_CONNECT_S = 10
REMOTE_SILENCE_S = 30
#: Storage: bytes asked of an object at once: few at first, for those that read only the beginning.
REMOTE_BLOCK_BYTES_MIN = 256 * 1024
REMOTE_BLOCK_BYTES_MAX = 8 * 1024 * 1024

#: Pravega: payload of one frame on the client side (WireCommands.MAX_WIRECOMMAND_SIZE, protocols/pravega.md §1.1).
PRAVEGA_PAYLOAD_BYTES_MAX = 0x00FF_FFFF
#: SBP: Frame Length (protocols/sbp.md §1.2).
SBP_FRAME_LENGTH_MIN = 16
SBP_FRAME_LENGTH_MAX = 16 * 1024 * 1024
#: Offramp: one WebSocket frame or joined message, also after inflating: no limit on the wire, ours against bombs.
WEBSOCKET_MESSAGE_BYTES_MAX = 64 * 1024 * 1024
#: Offramp: a client message the reference server takes (Tomcat's buffer; a larger one is answered with 1009).
OFFRAMP_CLIENT_MESSAGE_BYTES_MAX = 8_192
#: Offramp: the head of an HTTP request or response.
HTTP_HEAD_BYTES_MAX = 64 * 1024
#: Offramp: the body of one, in bytes and in chunks (Tomcat cuts into chunks of 8 KiB).
HTTP_BODY_BYTES_MAX = 16 * 1024 * 1024
HTTP_CHUNKS_MAX = 4_096
#: Offramp: final deflate blocks in one compressed message; each costs a new inflater.
DEFLATE_FINAL_BLOCKS_MAX = 64
#: Deflate: bytes that a byte may inflate to. Two bits stand for 258 bytes at most (RFC 1951 §3.2.5).
DEFLATE_GROWTH_MAX = 258 * 8 // 2
#: Offramp: how deep the objects and arrays of one event may nest, well inside what Python's parsers and writers take.
JSON_NESTING_MAX = 200
#: Offramp: digits of one whole number in JSON; the least that an interpreter can be set to convert.
JSON_INTEGER_DIGITS_MAX = 640

#: Dissect: bytes held of one direction while its next trusted frame is looked for.
RESYNC_BYTES_MAX = 17 * 1024 * 1024
#: Dissect: how often over the bytes that one look has passed may be claimed by frames that might begin in them, each of
#: which takes a copy, a checksum or a decode to refuse (real streams claim theirs once); bytes that may be claimed
#: beyond that and all bytes held, for a small look; and frames so short that their number alone bounds what they take.
RESYNC_OVERLAP_MAX = 32
RESYNC_CLAIMED_BYTES = 1024 * 1024
RESYNC_FRAME_BYTES_FREE = 1_024
#: Dissect: bytes of unfinished frames and messages held for all connections of a run, and what each segment of them
#: costs beside its bytes. One connection may hold a frame of 16 MiB for each side; 30 of them came to 504 MB. The
#: connections that hold the most lose their bytes, which become problems; in a tap they pass on undecoded.
UNFINISHED_BYTES_MAX = 256 * 1024 * 1024
UNFINISHED_SEGMENT_BYTES = 200
#: Dissect: bytes of one connection held while its protocol is being recognised (a frame of a mebibyte may come first;
#: on a port nobody is expected on, most are strangers), and frames after which it is decided.
RECOGNISE_BYTES_MAX = 1024 * 1024
RECOGNISE_UNEXPECTED_BYTES_MAX = 32 * 1024
RECOGNISE_FRAMES_MAX = 32
#: TLS: bytes of one connection held until the hellos of both sides are complete, and those of a side that wait for the
#: other one (early data) or for a secret that a live key log lacks, for so long at most (capture time); bytes after a
#: gap in which the next record is searched for (records have 18 KB at most), how many records may have been lost there,
#: and how many bytes are tried to be opened, each with the key of every number.
TLS_HELLO_BYTES_MAX = 64 * 1024
TLS_HELD_BYTES_MAX = 1024 * 1024
TLS_SECRET_WAIT_NS_MAX = 30_000_000_000
TLS_SEARCH_BYTES_MAX = 64 * 1024
TLS_LOST_RECORDS_MAX = 2_048
TLS_TRIED_BYTES_MAX = 128 * 1024 * 1024
#: TLS: connections of which secrets are kept, five labels at most of each: less than a kilobyte; bytes of a key log
#: that are read at once.
TLS_SECRETS_MAX = 1_000_000
KEYLOG_READ_BYTES_MAX = 16 * 1024 * 1024
#: A key log that comes through a pipe: its bytes are all read at once.
KEYLOG_PIPE_BYTES_MAX = 256 * 1024 * 1024
#: Dissect: capture time after which a live source no longer holds messages for the sake of a surer protocol. With the
#: time between two ticks (commands/decode/growing.py) after it, the first message still appears within 200 ms.
UNDECIDED_NS_MAX = 150_000_000
#: Commands: one line of hex or JSON; two characters a byte of the largest message, and room for names.
LINE_CHARACTERS_MAX = 160 * 1024 * 1024
#: Dissect: items of one side that wait while the other side's next frame is looked for, so that requests stay before
#: replies.
WAITING_ITEMS_MAX = 1_024
#: Dissect: stretches of a connection of which is remembered when they were told, at 16 bytes each; a reply told late
#: looks them up. Holes are given up some 64 segments after the other side had what is missing.
REMEMBERED_STRETCHES_MAX = 256
#: Bulk reading: records read one by one that a batch has at most, at one to two KiB each (as many may wait for the next
#: batch while those of several connections are put in order); bytes that packed messages may come to in one; and items
#: given out by one packet (what had waited for missing bytes) that are read together, and their bytes.
BATCH_RECORDS_MAX = 8_192
BATCH_BYTES_MAX = 64 * 1024 * 1024
BATCH_ITEMS_MAX = 1_024
BATCH_ITEMS_BYTES_MAX = 512 * 1024
#: Sessions: requests of one connection that may wait for their reply; the oldest is forgotten first.
REQUESTS_OPEN_MAX = 65_536
#: Sessions: writers that one connection may set up.
WRITERS_MAX = 65_536
#: FlatBuffers: tables visited in one buffer (the default of the Rust verifier), and bytes of text, data and vectors
#: as a multiple of the buffer: offsets may share what they point to, and shared again that grows without end.
FLATBUFFER_TABLES_MAX = 1_000_000
FLATBUFFER_SHARING_MAX = 16
#: Codec: how deep tables and lists may nest in one message.
NESTING_MAX = 64
#: Codec: elements that a list may claim to have: no frame holds more, each takes a byte of it at least.
LIST_ELEMENTS_MAX = 0x00FF_FFFF
#: Sessions: connections, segments, streams and roads that statistics tell apart; further ones are added up in one row.
STATS_ROWS_MAX = 100_000
#: Pravega draft: stored bytes of one append block that are put together; it may span frames without end.
DRAFT_BLOCK_BYTES_MAX = 64 * 1024 * 1024
#: Servers: bytes of replies to one read of a client's bytes, at which its next frames wait until they have left. A
#: reply of Pravega has 2 MiB at most, one of SBP 16.
MOCK_REPLY_BYTES_MAX = 4 * 1024 * 1024
#: Servers: bytes of data that a mock keeps unless `--retain` says otherwise; the oldest goes first.
MOCK_RETAIN_BYTES = 2 * 1024 * 1024 * 1024
#: Servers: bytes of unfinished frames and messages held for all clients; the clients that hold the most are closed.
#: Losing a client costs more than a problem in a capture, so this is as much as `bench` may have on the way.
MOCK_UNFINISHED_BYTES_MAX = 1024 * 1024 * 1024
#: Servers: connections at once; past this, new ones are refused.
MOCK_CONNECTIONS_MAX = 10_000
#: Pravega tables: a key, an entry as it is stored, a fixed key length (the store refuses more), and what one page of
#: an iterator or of a delta may hold before it ends.
PRAVEGA_TABLE_KEY_BYTES_MAX = 8_192
PRAVEGA_TABLE_ENTRY_BYTES_MAX = 1024 * 1024
PRAVEGA_TABLE_KEY_LENGTH_MAX = 256
PRAVEGA_TABLE_PAGE_BYTES = 2 * 1024 * 1024
#: Servers: bytes of replaced and removed entries that a table keeps for deltas, beside as many as it has in use.
MOCK_TABLE_WASTE_BYTES = 1024 * 1024
#: SBP servers: streams, and ranges, that a mock holds; a range server makes one for every CREATE_RANGE.
SBP_STREAMS_MAX = 262_144
SBP_RANGES_MAX = 262_144
#: SBP servers: what a kept batch costs beside its bytes, counted against what a mock keeps.
SBP_BATCH_OVERHEAD_BYTES = 160
#: Controller: segments of one stream or key-value table at a time; real streams have tens.
CONTROLLER_SEGMENTS_MAX = 10_000
#: Controller: names in one page of a list, as the real one's default.
CONTROLLER_PAGE_ITEMS_MAX = 1_000
#: Controller: transactions of one stream whose end is remembered, and how many of these are listed (as the real one).
CONTROLLER_COMPLETED_MAX = 10_000
CONTROLLER_COMPLETED_LISTED_MAX = 500
#: Controller: calls of one connection that may be under way at once, and bytes of all their requests (the default of
#: gRPC for one).
CONTROLLER_CALLS_MAX = 100
CONTROLLER_REQUEST_BYTES_MAX = 4 * 1024 * 1024
#: Servers: reads of one Pravega connection that may wait for data; a reader has one a segment.
PRAVEGA_PARKED_READS_MAX = 4_096
#: HTTP/2: one frame, where what its reader allows is not known (RFC 9113 §4.2: 24 bits).
HTTP2_FRAME_BYTES_MAX = 0x00FF_FFFF
#: HTTP/2: a header block, with all its continuations, and the list it unpacks to (64 KiB is what gRPC's servers take at
#: most); and the table of earlier fields, whatever a peer allows.
HTTP2_HEADERS_BYTES_MAX = 64 * 1024
HTTP2_TABLE_BYTES_MAX = 1024 * 1024
#: HTTP/2: streams of one connection that are remembered, open or not; the oldest is forgotten first.
HTTP2_STREAMS_MAX = 4_096
#: HTTP/2: settings and pings of one side that may wait for their acknowledgement.
HTTP2_UNACKNOWLEDGED_MAX = 1_024
#: gRPC: one message (clients and servers take 4 MiB unless told otherwise), and parts of messages held for all streams.
GRPC_MESSAGE_BYTES_MAX = 16 * 1024 * 1024
GRPC_HELD_BYTES_MAX = 64 * 1024 * 1024
#: Offramp mock: bytes of messages sent to one client before everybody else has a turn; few, so that a CANCEL is heeded
#: soon and a slow consumer costs little.
OFFRAMP_TURN_BYTES_MAX = 256 * 1024
#: Offramp mock: an HTTP request with its body (Tomcat swallows 2 MiB; no request needs a body here).
OFFRAMP_REQUEST_BYTES_MAX = 1024 * 1024
#: Offramp mock: roads where any road exists, and streams remembered of one road for what they have committed.
OFFRAMP_ROADS_MAX = 10_000
OFFRAMP_STREAMS_MAX = 10_000
#: Offramp mock: seconds of silence after which a client is asked whether it is there, and again until it is given up;
#: and those in which it must have taken what was sent (the real server's sending gives up then).
OFFRAMP_SILENCE_S = 30
OFFRAMP_SEND_S = 20
#: Faults: bytes of one direction that wait for their time, at which its sender is read no further, and at which the
#: connection is cut, should somebody read on: a WebSocket message of 64 MiB may be whole just then.
FAULT_HELD_BYTES = 16 * 1024 * 1024
FAULT_HELD_BYTES_MAX = 128 * 1024 * 1024
#: Faults: copies of one frame, and how long anything may be told to wait (a day).
FAULT_COPIES_MAX = 1_000
FAULT_DURATION_NS_MAX = 24 * 3_600 * 1_000_000_000
#: Faults: rules that one file may hold, and characters of a rule.
FAULT_RULES_MAX = 10_000
FAULT_RULE_CHARACTERS_MAX = 64 * 1024
#: Pravega draft server: segments that its clients may make; each SetupAppend can make one.
DRAFT_SEGMENTS_MAX = 65_536
#: Offramp mock: a client message it takes unless it is to behave as the reference server.
OFFRAMP_MOCK_CLIENT_MESSAGE_BYTES_MAX = 1024 * 1024
#: SBP servers: tables in one header of a client, and numbers in one list of it; a lawful header may name one table as
#: often as it likes for four bytes each, and every one is read, served and answered.
SBP_ENTRIES_MAX = 8_192
#: SBP servers: ranges, and servers of ranges, that one answer lists; a request may ask for the same ones many times.
SBP_LISTED_MAX = 131_072
#: Controller: streams that were deleted of which is remembered how many segments they had, in case they are made again.
CONTROLLER_DELETED_STREAMS_MAX = 10_000
#: Replay: bytes of one segment that are written anew to stand for what was there before the recording, and how many of
#: them if nobody reads them. Longer segments begin later.
REPLAY_OLD_BYTES_MAX = 64 * 1024 * 1024
REPLAY_UNREAD_BYTES_MAX = 1024 * 1024
#: Replay: what a live server may say on one connection unasked, beside what was recorded of it: frames (a KiB or two
#: each, with what is told of them), their bytes, and further frames beside each answer (pings, windows); and bytes that
#: are no frame, of which there are none without a hole.
REPLAY_SURPLUS_FRAMES_MAX = 65_536
REPLAY_SURPLUS_BYTES_MAX = 64 * 1024 * 1024
REPLAY_SURPLUS_FRAMES_BESIDE = 16
REPLAY_STRANGE_BYTES_MAX = 1024 * 1024

#: Bench: one run, its warm-up included: a load that was forgotten ends by itself.
BENCH_S_MAX = 3_600.0
#: Bench: how long the drain of a backlog may take; where the build-up took longer, so long.
BENCH_DRAIN_S = 60.0
#: Bench: bytes of the events of one append; a Pravega client sends no larger batch (PendingEvent.java: 2 x 8 MiB).
BENCH_APPEND_BYTES_MAX = 16 * 1024 * 1024 - 64
#: Bench: users on one connection each; the ports of an address pair are no more.
BENCH_USERS_MAX = 28_000
#: Bench: load processes on this machine: each wants a processor of its own, and takes some 80 MB and a second to start.
BENCH_PROCESSES_MAX = 64
#: Bench: workers that a master waits for: each is started by hand on some machine, and tells it a few KiB a second.
BENCH_WORKERS_MAX = 1_000
#: Bench: exchanges a second that may be asked for.
BENCH_RATE_MAX = 10_000_000.0
#: Bench: characters of what a server wrote that are told again.
BENCH_SAID_CHARACTERS_MAX = 200
#: Bench: events of one append, appends of one user on the way, and segments that are written to.
BENCH_BATCH_MAX = 100_000
BENCH_PIPELINE_MAX = 10_000
BENCH_SEGMENTS_MAX = 10_000
#: Bench: characters of a delegation token (real ones have some 300; a request has room for 65,535).
BENCH_TOKEN_CHARACTERS_MAX = 8 * 1024
#: Bench: the slowest exchanges that are kept, bytes of all of them (of which each process keeps so many; the largest
#: append alone fits), of what was said before on one connection, and of all that is on the way while they are kept.
BENCH_SLOW_MAX = 100
BENCH_SLOW_BYTES_MAX = 32 * 1024 * 1024
BENCH_OPENING_BYTES_MAX = 64 * 1024
BENCH_ON_THE_WAY_BYTES_MAX = 1024 * 1024 * 1024
#: Bench: bytes of an event (a client of Pravega takes no larger one; Serializer.java: MAX_EVENT_SIZE), and sizes that a
#: list may name: with more, drawing from it is what is measured.
BENCH_EVENT_BYTES_MAX = 8 * 1024 * 1024
BENCH_SIZES_MAX = 1_000
#: Bench: a time that can be written at all (a week), and a rate (more than a machine can send).
BENCH_TIME_S_MAX = 7 * 24 * 3_600.0
BENCH_RATE_WRITTEN_MAX = 1e8
#: Bench: holes in what a server stored that are remembered in case they are filled later, at 150 bytes each. Past that
#: the writer's oldest is lost.
BENCH_HOLES_MAX = 100_000
#: Bench: findings of one kind that are kept, and findings that are told in all; the others are counted.
BENCH_FINDINGS_MAX = 100
#: Bench: answers of an SBP server that may have overtaken others, and how often the layout of one is learnt anew on one
#: connection.
BENCH_EARLY_MAX = 65_536
BENCH_LEARNT_MAX = 64
#: Bench: numbers of which a tally of a recording keeps each apart (sizes of events, say), and requests of all consumers
#: in one that are followed until they are answered.
BENCH_APART_MAX = 65_536
BENCH_REQUESTS_OPEN_MAX = 1_000_000
#: Encode: frames that wait for one whose bytes a later message decides, at some 500 bytes each, and bytes of them. Past
#: that, frames of other connections are written before it.
ENCODE_WAITING_MESSAGES_MAX = 65_536
ENCODE_WAITING_BYTES_MAX = 64 * 1024 * 1024
#: Metrics: label values of one metric, after which further ones are counted under one name (names of messages come from
#: declarations, but paths of gRPC calls and rules from users); frames that wait until their exchanges are computed, and
#: their bytes: with fewer, each costs more; with more, clients wait longer for the server that computes them (3 ms).
METRIC_SERIES_MAX = 1_000
OBSERVED_RECORDS_MAX = 256
OBSERVED_BYTES_MAX = 4 * 1024 * 1024
