# One run of many: its tables are made, and what is kept of the others stays.
paper=${GOLDEN%/tests/golden}/scripts/reproduce-paper
shipped=${GOLDEN%/tests/golden}/workloads/recorded
mkdir runs
cp "$shipped"/dlrm-infer.* "$shipped"/other-recordings.json runs
"$paper" --bin "$(dirname "$(command -v kreach)")" --runs runs --only dlrm-infer --out out >table 2>/dev/null
echo "$? $(grep -c 'DLRM, inference\*\*' table)"
diff "$shipped"/other-recordings.json runs/other-recordings.json && echo "all are kept"
touch file
"$paper" --bin "$(dirname "$(command -v kreach)")" --runs runs --only dlrm-infer --out file/out >table
echo $?
